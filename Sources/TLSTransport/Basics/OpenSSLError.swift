import COpenSSL

/// One entry of OpenSSL's error queue, as a value.
///
/// The queue belongs to the thread and survives the call that filled it. A caller of OpenSSL clears the queue before
/// the call (``clearQueue()``) and drains it after a failure, on the same thread, before anything else calls OpenSSL.
struct OpenSSLError: Sendable, Equatable {
    /// The part of OpenSSL that reports (`ERR_LIB_…`).
    let library: Int32
    /// The reason code within that part.
    let reason: Int32
    /// Text for people: library, reason and OpenSSL's own detail if there is one.
    let text: String

    /// Forgets errors of earlier calls, which would otherwise be taken for those of the next.
    static func clearQueue() {
        ERR_clear_error()
    }

    /// Takes all errors from this thread's queue, the oldest (the cause) first.
    static func drainQueue() -> [OpenSSLError] {
        var errors: [OpenSSLError] = []
        while true {
            var detail: UnsafePointer<CChar>?
            var flags: Int32 = 0
            let code = ERR_get_error_all(nil, nil, nil, &detail, &flags)
            guard code != 0 else { return errors }
            errors.append(OpenSSLError(code: code, detail: flags & ERR_TXT_STRING != 0 ? detail : nil))
        }
    }

    /// A text with OpenSSL's words behind it; words with which it ends already are left out.
    static func describe(_ text: String, _ words: [String]) -> String {
        let rest = words.filter { !text.hasSuffix($0) }
        return rest.isEmpty ? text : "\(text) [OpenSSL: \(rest.joined(separator: "; "))]"
    }

    /// Copies `detail`, which is valid only until the queue is next used.
    private init(code: UInt, detail: UnsafePointer<CChar>?) {
        library = ERR_GET_LIB(code)
        reason = ERR_GET_REASON(code)
        var text = ERR_lib_error_string(code).map { String(cString: $0) } ?? "library \(library)"
        text += ": "
        text += ERR_reason_error_string(code).map { String(cString: $0) } ?? "reason \(reason)"
        if let detail, detail.pointee != 0 {
            text += " (\(String(cString: detail)))"
        }
        self.text = text
    }
}
