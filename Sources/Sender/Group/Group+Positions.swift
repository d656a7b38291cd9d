import KafkaClient
import PipelineCore

/// The reading of committed positions.
extension Group {
    /// Reads the metadata of a committed offset, and prepares it for this owner's decoder.
    ///
    /// - Returns: nil: the partition must stand; `isMixed`: see ``PartitionAssignment/isMixed``.
    func read(_ position: KafkaPartitionOffset) -> (metadata: PositionMetadata, isMixed: Bool)? {
        var metadata = PositionMetadata()
        do throws(PositionMetadata.DecodingError) {
            metadata = try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
        } catch {
            switch error {
            case .missing:
                logger.critical(
                    "committed offset has no metadata: set by hand; starting there",
                    metadata: ["partition": "\(position.partition)", "offset": "\(position.offset)"]
                )
            case .unknownVersion, .malformed:
                logger.critical(
                    "commit metadata is not understood; the partition stands until its offset is set",
                    metadata: ["partition": "\(position.partition)", "offset": "\(position.offset)"]
                )
                return nil
            case .madeFor(let offset, _):
                logger.critical(
                    "commit metadata was made for another offset; the partition stands until its offset is set",
                    metadata: [
                        "partition": "\(position.partition)", "offset": "\(position.offset)", "made_for": "\(offset)",
                    ]
                )
                return nil
            }
        }
        let isMixed = metadata.adapt(to: decoderEdition, committedOffset: position.offset)
        if isMixed, metadata.refused != nil {
            logger.warning(
                "refused records of a former owner may be of any topic; notifications may be sent again",
                metadata: ["partition": "\(position.partition)", "offset": "\(position.offset)"]
            )
        }
        return (metadata, isMixed)
    }
}
