import APNsProtocol
import PayloadRendering
import PushSchemas

/// A payload that a worker will make of a record, for people who want to see it before.
package struct PayloadPreview: Equatable, Sendable {
    /// The BCP 47 tag as the request has it, or ``defaultLanguage``; nil: the request has one payload for all.
    package let language: String?
    /// JSON in UTF-8.
    package let bytes: [UInt8]
    /// Of the longest payload.
    package let limitBytes: Int
    /// Tells what is changed for the devices that get it; empty: nothing.
    package let warning: String

    /// The language of all devices that no localization is for.
    package static let defaultLanguage = "default"

    package init(language: String?, bytes: [UInt8], limitBytes: Int, warning: String = "") {
        self.language = language
        self.bytes = bytes
        self.limitBytes = limitBytes
        self.warning = warning
    }
}

extension RequestValidator {
    /// The payloads of a record: of a structured notification one for each language, first the default one, then by
    /// tag. Values of tokens' own are not in them.
    ///
    /// - Parameter value: valid during the call.
    /// - Throws: the first fault of the content.
    package func previews(
        of value: UnsafeRawBufferPointer,
        as contentType: RecordContentType
    ) throws(RecordRefusal) -> [PayloadPreview] {
        let request = try RecordRefusal.of { () throws(RecordError) in
            try SendRequestView(decoding: value, as: contentType)
        }
        let judged = try JudgedRequest.judge(request, over: transport, payload)
        guard let message = request.notification, let content = try judged.notification(of: request) else {
            return [PayloadPreview(language: nil, bytes: Array(request.payload), limitBytes: judged.limitBytes)]
        }
        var previews: [PayloadPreview] = []
        let languages = content.template.languages
        let tags = message.localizations.keys.sorted().map { ($0, languages.number(of: $0)) }
        // Number 0 is the default, under whichever name the request has it.
        for (tag, number) in [(PayloadPreview.defaultLanguage, 0)] + tags.filter({ $0.1 > 0 }) {
            let (bytes, _) = try content.payload(language: number, overrides: TokenOverrides(), by: judged)
            previews.append(
                PayloadPreview(
                    language: tag,
                    bytes: bytes,
                    limitBytes: judged.limitBytes,
                    warning: content.priority(language: number).warning
                )
            )
        }
        return previews
    }
}
