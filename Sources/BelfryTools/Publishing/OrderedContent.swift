import BelfrySupport
import Foundation
import PushSchemas
import SwiftProtobuf

/// The content of a notification to publish.
public enum OrderedContent: Equatable, Sendable {
    /// A payload: JSON as it was given.
    case payload([UInt8])
    /// A notification in parts, of which the workers make the payloads.
    case notification(PushNotification)

    /// Reads a notification in parts.
    ///
    /// - Parameter argument: an object of JSON, or the name of a file that holds one.
    /// - Throws: `ToolError.invalidInput` names the file, or the field with its path, the finding and what is allowed.
    public static func notification(_ argument: String) throws(ToolError) -> OrderedContent {
        let isObject = argument.first { !$0.isWhitespace } == "{"
        let bytes = isObject ? Array(argument.utf8) : try InputFile.bytes(at: argument)
        do throws(RecordError) {
            return .notification(try bytes.span.withUnsafeBytes(Self.decoded))
        } catch {
            throw .invalidInput(["\(isObject ? "notification" : argument): \(error.message)"])
        }
    }

    private static func decoded(_ bytes: UnsafeRawBufferPointer) throws(RecordError) -> PushNotification {
        guard !bytes.isEmpty else { throw RecordError(.valueEmpty, "the file is empty") }
        return try RequestDecoding.decode(from: bytes, as: .json)
    }

    /// The same content has the same text.
    var identity: String {
        switch self {
        case .payload(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .notification(let message):
            var options = BinaryEncodingOptions()
            options.useDeterministicOrdering = true
            // Writing a message that was read does not fail.
            let bytes: [UInt8]? = try? message.serializedBytes(options: options)
            return "notification \(Data(bytes ?? []).base64EncodedString())"
        }
    }
}
