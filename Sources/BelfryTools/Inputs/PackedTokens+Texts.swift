import BelfryProducer
import BelfrySupport

extension PackedTokens {
    /// The tokens given one by one.
    init(_ texts: [String], lengths: ClosedRange<Int>) throws(ToolError) {
        self.init()
        for (index, text) in texts.enumerated() {
            do throws(RegistrationLine.Fault) {
                let token = try Array(text.utf8).span.withUnsafeBytes { digits throws(RegistrationLine.Fault) in
                    try RegistrationLine.token(digits, lengths)
                }
                append(token)
            } catch {
                throw .invalidInput(["token \(index + 1) of \(texts.count): \(error.message)"])
            }
        }
    }
}
