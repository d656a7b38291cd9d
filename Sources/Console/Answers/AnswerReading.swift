import FoundationEssentials

/// The reason why an answer is none, in words that follow the process's address.
struct AnswerTrouble: Error, Equatable, Sendable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Reads the answer to `GET /status`.
enum AnswerReading {
    /// - Parameters:
    ///   - status: of HTTP.
    ///   - body: at most ``ConsoleLimits/answerBytes``.
    static func read(status: Int, body: [UInt8]) -> Result<RoleAnswer, AnswerTrouble> {
        switch status {
        case 200: break
        case 401, 403: return .failure(AnswerTrouble("it refuses the console (HTTP \(status)): is the token right?"))
        default: return .failure(AnswerTrouble("/status is answered with HTTP \(status)"))
        }
        do {
            return .success(try JSONDecoder().decode(RoleAnswer.self, from: Data(body)))
        } catch let trouble as AnswerTrouble {
            return .failure(trouble)
        } catch {
            return .failure(AnswerTrouble(words(for: error)))
        }
    }

    private static func words(for error: any Error) -> String {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "its /status has something unexpected at \(path(context.codingPath))"
        case .keyNotFound(let key, let context):
            "its /status lacks \(path(context.codingPath + [key]))"
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "its /status has a number out of range at \(path(context.codingPath))"
        default:
            "its /status is no JSON object of a role"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        let path = keys.reduce("") { path, key in
            if let index = key.intValue { return "\(path)[\(index)]" }
            return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
        }
        return PlainText.clean(path.isEmpty ? "its beginning" : path, limitBytes: 80)
    }
}
