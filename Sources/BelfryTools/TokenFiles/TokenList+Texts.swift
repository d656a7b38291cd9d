import APNsProtocol
import BelfryProducer
import BelfrySupport
import PushSchemas

extension TokenList {
    /// The tokens given one by one.
    init(_ texts: [String], lengths: ClosedRange<Int>) throws(ToolError) {
        self.init()
        for text in texts {
            do throws(TokenFault) {
                append(try Self.token(text, lengths: lengths))
            } catch {
                throw .invalidInput(["token \"\(text.prefix(24))\": \(error.message)"])
            }
        }
    }

    private struct TokenFault: Error {
        let message: String
    }

    private static func token(_ digits: String, lengths: ClosedRange<Int>) throws(TokenFault) -> [UInt8] {
        let token: [UInt8]
        do throws(HexError) {
            token = try Hex.decode(digits)
        } catch {
            throw TokenFault(message: "the token \(error)")
        }
        guard lengths.contains(token.count) else {
            throw TokenFault(message: RecordRefusal.tokenLength(token.count, allowed: lengths).detail)
        }
        return token
    }
}
