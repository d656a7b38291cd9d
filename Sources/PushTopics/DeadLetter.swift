import KafkaClient
import PipelineCore
import PushSchemas

/// A record that cannot be used, on its way to push.dead-letters: the source's bytes unchanged, the rest in headers.
///
/// The broker may refuse its size. It then goes in a smaller ``Form``, and its tokens in several letters.
package struct DeadLetter {
    /// The part of the record that a letter carries.
    package enum Form: Sendable {
        case whole
        /// The beginning of the value, and as many tokens as leave room for it.
        case cut
        /// Further tokens, for the same reason, beside a letter that is cut.
        case further
        /// The least that names the record, for a broker that refuses its beginning, too.
        case bare

        /// The form after a refusal; nil: there is no smaller one.
        package var smaller: Form? {
            switch self {
            case .whole: .cut
            case .cut, .further: .bare
            case .bare: nil
            }
        }

        fileprivate var valueBytes: Int {
            switch self {
            case .whole: .max
            case .cut: DeadLetter.cutBytes
            case .further: 16 << 10
            case .bare: 256
            }
        }

        /// Of the key and of each inherited header.
        fileprivate var textBytes: Int {
            switch self {
            case .whole: .max
            case .cut, .further: DeadLetter.detailBytes
            case .bare: 256
            }
        }

        fileprivate var tokenTextBytes: Int {
            switch self {
            case .whole: .max
            case .cut, .further: DeadLetter.tokenTextBytes
            case .bare: 1 << 10
            }
        }
    }

    /// Topic of the source record.
    package var source: String
    /// Offset of the source record.
    package var offset: Int64
    /// A stable code.
    package var reason: String
    /// For a person to read.
    package var detail: String
    /// Positions of the tokens at fault; nil if the whole record is.
    package var tokens: TokenRuns?
    package var form: Form

    /// Bytes of the value in a letter that is cut.
    package static let cutBytes = 256 << 10
    /// Most bytes of the detail, which may quote the record, and of the key if the value is cut.
    private static let detailBytes = 1024
    /// Most bytes of the header that names the encoding, in moved records, too.
    static let contentTypeBytes = 1024
    /// Most bytes of the positions of tokens in a letter that is cut.
    private static let tokenTextBytes = 64 << 10
    /// Most letters for one record and reason. The positions in the last one are cut if that is not enough.
    private static let mostLetters = 32

    package init(
        source: String,
        offset: Int64,
        reason: String,
        detail: String,
        tokens: TokenRuns? = nil,
        form: Form = .whole
    ) {
        self.source = source
        self.offset = offset
        self.reason = reason
        self.detail = detail
        self.tokens = tokens
        self.form = form
    }

    /// The tokens of each letter, if one for all of them is too large for the broker.
    package static func parts(of tokens: TokenRuns) -> [TokenRuns] {
        tokens.parts(textBytes: tokenTextBytes, most: mostLetters)
    }

    package func publish(
        _ message: KafkaMessageView,
        to topic: String,
        through producer: any MessageProducer,
        opaque: UInt64
    ) throws(KafkaError) {
        var headers: [(String, [UInt8])] = [
            ("reason", Array(reason.utf8)),
            ("detail", Array(detail.shortened(toBytes: min(Self.detailBytes, form.textBytes)).utf8)),
            ("source-topic", Array(source.utf8)),
            ("source-partition", Array("\(message.partition)".utf8)),
            ("source-offset", Array("\(offset)".utf8)),
        ]
        if let tokens {
            let cut = form == .whole ? nil : tokens.cutText(textBytes: form.tokenTextBytes)
            headers.append(("token-indices", Array((cut ?? tokens.text).utf8)))
            if cut != nil { headers.append(("cut-from-tokens", Array("\(tokens.count)".utf8))) }
        }
        if let type = message.contentTypeHeader {
            let bytes = min(Self.contentTypeBytes, form.textBytes)
            headers.append((RecordContentType.headerName, Array(type.prefix(bytes))))
        }
        headers += message.traceHeaders.filter { $0.1.count <= form.textBytes }
        var value = message.value
        if value.count > form.valueBytes {
            headers.append(("cut-from-bytes", Array("\(value.count)".utf8)))
            value = UnsafeRawBufferPointer(rebasing: value[..<form.valueBytes])
        }
        var key = message.key
        if key.count > form.textBytes { key = UnsafeRawBufferPointer(rebasing: key[..<form.textBytes]) }
        try producer.produce(topic: topic, partition: nil, key: key, value: value, headers: headers, opaque: opaque)
    }
}
