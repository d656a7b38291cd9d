import Logging
import PushSchemas
import PushTopics
import TLSTransport

/// The names of a record and its notifications in log lines.
extension RereadRecord {
    /// Most bytes of a publisher's text in a line; ids are shorter.
    private static let textLimit = 200

    /// The record's place, bundle, request id and trace.
    var coordinates: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "partition": .stringConvertible(message.partition), "offset": .stringConvertible(message.offset),
            "app": .string(bundleID.shortened(toBytes: Self.textLimit)),
        ]
        let id = requestID.shortened(toBytes: Self.textLimit)
        if !id.isEmpty { metadata["request-id"] = .string(id) }
        if let trace = traceHeaders.first(where: { $0.0 == TraceContext.parent })?.1 {
            metadata[TraceContext.parent] = .string(String(decoding: trace.prefix(Self.textLimit), as: UTF8.self))
        }
        return metadata
    }

    /// The same of one notification, with the hash of its token.
    func coordinates(of token: UInt32) -> Logger.Metadata {
        var metadata = coordinates
        metadata["token-index"] = .stringConvertible(token)
        if let bytes = self.token(at: token) { metadata["token"] = .string(TokenHash.text(bytes)) }
        return metadata
    }
}
