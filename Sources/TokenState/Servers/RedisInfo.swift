import RedisClient

/// The answer to INFO: `name:value` lines in sections.
///
/// Source: Redis documentation, INFO.
package struct RedisInfo: Equatable {
    private var values: [Substring: Substring] = [:]

    init(_ text: String) {
        // A line ends with CR LF, which Swift takes for one character.
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = line[line.index(after: colon)...]
        }
    }

    package subscript(name: String) -> String? { values[name[...]].map(String.init) }
}

extension RedisCluster {
    /// Asks every master for a section of INFO, all at once.
    ///
    /// - Parameter completion: called once, with an answer or a failure for each of ``masterAddresses``.
    package func info(
        _ section: String,
        _ completion: @escaping ([(RedisAddress, Result<RedisInfo, RedisError>)]) -> Void
    ) {
        askMasters(
            { writer in
                writer.command("INFO", argumentCount: 1)
                writer.argument(section)
            },
            read: { RedisInfo($0.string ?? "") },
            completion
        )
    }

    /// Asks every master for a setting, all at once.
    ///
    /// - Parameter completion: called once, with an answer or a failure for each of ``masterAddresses``; nil: there is
    ///   no such setting.
    func setting(
        _ name: String,
        _ completion: @escaping ([(RedisAddress, Result<String?, RedisError>)]) -> Void
    ) {
        askMasters(
            { writer in
                writer.command("CONFIG", argumentCount: 2)
                writer.argument("GET")
                writer.argument(name)
            },
            read: { $0.count == 2 ? $0[1].string : nil },
            completion
        )
    }

    private func askMasters<Value>(
        _ write: (inout RedisCommandWriter) -> Void,
        read: @escaping (RedisReply) -> Value,
        _ completion: @escaping ([(RedisAddress, Result<Value, RedisError>)]) -> Void
    ) {
        let masters = masterAddresses
        var answers: [(RedisAddress, Result<Value, RedisError>)] = []
        guard !masters.isEmpty else { return completion([]) }
        for master in masters {
            send(to: master, write) { result in
                answers.append((master, result.map(read)))
                if answers.count == masters.count { completion(answers) }
            }
        }
    }
}
