import KafkaClient
import PipelineCore

/// What the headers of a record in push.parked say: whose copy it is, and which of its notifications are still to do.
///
/// Key, value and headers of the source come unchanged; these stand behind them.
struct ParkedCopy: Equatable {
    var sourceTopic: String
    /// Of the source record; its partition has the same number as the copy's.
    var sourceOffset: Int64
    /// Of the source record, UNIX milliseconds; nil: it had none.
    var sourceTimestamp: Int64?
    var environment: String
    /// Nil: all.
    var tokens: TokenRuns?
    /// Names the assignment that wrote the copy, see ``PartitionParking/writer``.
    var writer: String

    private static let topicName = "source-topic"
    private static let partitionName = "source-partition"
    private static let offsetName = "source-offset"
    private static let timestampName = "source-timestamp"
    private static let environmentName = "environment"
    private static let tokensName = "token-indices"
    private static let writerName = "parked-by"
    private static let names = [
        topicName, partitionName, offsetName, timestampName, environmentName, tokensName, writerName,
    ]

    /// The headers of a copy of a source record.
    func headers(of message: KafkaMessageView) -> [(String, [UInt8])] {
        var headers: [(String, [UInt8])] = []
        message.forEachHeader { name, value in
            // What the source's producer wrote under our names would be read as ours where we leave one out.
            if !Self.names.contains(name) { headers.append((name, Array(value))) }
        }
        headers += [
            (Self.topicName, Array(sourceTopic.utf8)),
            (Self.partitionName, Array("\(message.partition)".utf8)),
            (Self.offsetName, Array("\(sourceOffset)".utf8)),
            (Self.environmentName, Array(environment.utf8)),
            (Self.writerName, Array(writer.utf8)),
        ]
        if let sourceTimestamp { headers.append((Self.timestampName, Array("\(sourceTimestamp)".utf8))) }
        if let tokens { headers.append((Self.tokensName, Array(tokens.text.utf8))) }
        return headers
    }
}

extension ParkedCopy {
    /// Reads a record of push.parked; nil if it is no copy of a record of the partition with its number.
    init?(_ message: KafkaMessageView) {
        func text(_ name: String) -> String? {
            message.header(name).map { String(decoding: $0, as: UTF8.self) }
        }
        guard let topic = text(Self.topicName), let environment = text(Self.environmentName),
            let partition = text(Self.partitionName).flatMap({ Int32($0) }), partition == message.partition,
            let offset = text(Self.offsetName).flatMap({ Int64($0) }), offset >= 0,
            let writer = text(Self.writerName)
        else { return nil }
        if let text = text(Self.tokensName) {
            guard let runs = TokenRuns(text) else { return nil }
            tokens = runs
        }
        sourceTopic = topic
        sourceOffset = offset
        sourceTimestamp = text(Self.timestampName).flatMap { Int64($0) }
        self.environment = environment
        self.writer = writer
    }
}
