import APNsProtocol
import BelfrySupport
import PushSchemas
import PushTopics
import SwiftProtobuf

/// A dead letter as `belfry dead-letters` prints it.
struct DeadLetterLine {
    let letter: StoredDeadLetter
    /// The Kafka topics of the installation.
    var names = TopicNames()

    /// Seven columns that are always there: time, reason, bundle, source, tokens, where the letter stands, detail.
    var text: String {
        let time = letter.writtenAt.map { UTCTimestamp.text(unixMilliseconds: $0) } ?? ""
        return [
            time, letter.reason, letter.bundleID, letter.source, letter.tokens ?? "all",
            "\(letter.place.partition)@\(letter.offset)", letter.detail,
        ].map(TerminalText.column).joined(separator: "  ")
    }

    /// The same as an object.
    var json: JSONLine {
        var line = JSONLine()
        if let time = letter.writtenAt { line.append("time", UTCTimestamp.text(unixMilliseconds: time)) }
        line.append("reason", letter.reason)
        if !letter.bundleID.isEmpty { line.append("bundle", letter.bundleID) }
        line.append("source", letter.source)
        if let tokens = letter.tokens { line.append("tokens", tokens) }
        line.append("letter", letter.coordinates)
        line.append("detail", letter.detail)
        return line
    }

    /// Everything: headers, key, and the value as far as it can be read.
    var whole: JSONLine {
        var line = json
        var headers = JSONLine()
        for (name, value) in letter.headers { headers.append(name, value) }
        line.append("headers", headers)
        line.append("key", String(decoding: letter.key, as: UTF8.self))
        line.append("value", value)
        return line
    }

    /// A message as JSON; text as it is; other bytes in hexadecimal digits.
    private var value: String {
        if letter.contentType == .json || letter.isCut {
            return String(validating: letter.value, as: UTF8.self) ?? Hex.encode(letter.value)
        }
        let text: String? =
            switch letter.sourceTopic {
            case let topic where names.allRequests.contains(topic): json(PushSendRequest.self)
            case names.registrations: json(PushRegistration.self)
            case names.feedback: json(PushFeedbackTuple.self)
            default: nil
            }
        return text ?? Hex.encode(letter.value)
    }

    private func json<M: Message>(_ type: M.Type) -> String? {
        letter.value.withUnsafeBytes { try? RequestDecoding.decode(type, from: $0, as: .protobuf).jsonString() }
    }
}
