/// Checks a payload and strips its insignificant white space, which counts against the limit, in a single pass.
public enum PayloadScanner {
    /// The deepest nesting of objects and arrays, the outermost object being 1 [ours].
    public static let depthLimit = 64

    /// Checks `input` against every ``PayloadRule`` and writes it without insignificant white space. Nothing else is
    /// changed: escapes, order and number formats stay as they are.
    ///
    /// - Parameters:
    ///   - input: the payload as it came; valid during the call.
    ///   - limitBytes: the longest result, see ``PayloadLimit``.
    ///   - aps: of the push type.
    ///   - output: at least as long as the input; a shorter one traps. It may be the same memory. Undefined after an
    ///     error.
    /// - Returns: the length of the result in bytes.
    /// - Throws: the first broken rule in reading order; the size is judged last, on the result.
    public static func scan(
        _ input: UnsafeRawBufferPointer,
        limitBytes: Int,
        aps: ApsRule = .required,
        into output: UnsafeMutableRawBufferPointer
    ) throws(PayloadError) -> Int {
        precondition(output.count >= input.count, "the output may need as many bytes as the input has")
        guard let source = input.baseAddress, let destination = output.baseAddress else {
            throw PayloadError(rule: .empty, offset: 0)
        }
        var pass = PayloadPass(input: source, count: input.count, output: destination, limitBytes: limitBytes)
        try pass.run(aps)
        return pass.written
    }

    /// The stripped payload as an array: for the cold path.
    ///
    /// - Throws: the first broken rule in reading order; the size is judged last, on the result.
    public static func stripped(
        _ payload: [UInt8],
        limitBytes: Int,
        aps: ApsRule = .required
    ) throws(PayloadError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: payload.count)
        var outputBytes = output.mutableSpan
        let count = try payload.span.withUnsafeBytes { input throws(PayloadError) in
            try outputBytes.withUnsafeMutableBytes { output throws(PayloadError) in
                try scan(input, limitBytes: limitBytes, aps: aps, into: output)
            }
        }
        output.removeLast(output.count - count)
        return output
    }
}
