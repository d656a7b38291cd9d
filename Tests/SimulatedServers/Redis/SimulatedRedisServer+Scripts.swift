@testable import RedisClient
@testable import TokenState

extension SimulatedRedisServer {
    /// The scripts of TokenState, all but the splitting of a bucket.
    static let tokenRules: [[UInt8]: Rule] = [
        TokenScripts.register.digest: change { token, call in
            let wasRevived = token.register(at: call.time, kinds: UInt8(call.integer(5)), texts: call.words[6])
            return .written(wasRevived: wasRevived)
        },
        TokenScripts.describe.digest: change { token, call in
            token.describe(at: call.time, kinds: UInt8(call.integer(5)), texts: call.words[6])
            return .written(wasRevived: false)
        },
        TokenScripts.tombstone.digest: change { token, call in
            let former = token
            let kind = UInt8(call.integer(6))
            if kind > 0 {
                token.refuse(at: call.time, kind: kind)
            } else {
                token.tombstone(at: call.time, reason: UInt8(call.integer(5)))
            }
            return token == former ? .asked : .written(wasRevived: false)
        },
        TokenScripts.forgetInvalid.digest: change { token, call in
            guard token.registered == 0 || token.tombstoned > 0 else {
                let former = token
                token.refused = token.refused.filter { $0.value > call.time }
                return token == former ? .asked : .written(wasRevived: false)
            }
            let isInvalid = token.reason == 2 || token.tombstoned == 0
            return isInvalid && token.isDead && token.latestDeath <= call.time ? .removed : .asked
        },
        TokenScripts.forget.digest: agreed { $0.remove($1) },
        TokenScripts.sweep.digest: agreed { server, call in
            server.record(call) == call.words[4] ? server.remove(call) : .text("0")
        },
        RegisteredTokenSearch.script.digest: { server, call in
            let isAny = server.hashes[call.words[0]]?.values.contains { value in
                value[0] >= 64 || TokenModel(value).map { $0.registered > 0 } ?? false
            }
            return .integer(isAny == true ? 1 : 0)
        },
        CoalesceScript.coalesce.digest: { $0.coalesce($1) },
        BadgeScript.change.digest: { .integer(Int64($0.badges.change($1.words[0], Array($1.arguments)))) },
        BadgeScript.takeBack.digest: { .integer(Int64($0.badges.takeBack($1.words[0], Array($1.arguments)))) },
    ]

    // MARK: Tokens

    private enum Change {
        /// Nothing is changed.
        case asked
        case written(wasRevived: Bool)
        case removed
    }

    /// The rule of a script on one token's record, unless its caller has another number of buckets.
    private static func agreed(_ rule: @escaping Rule) -> Rule {
        { server, call in
            let count = server[call.words[0]].flatMap { Int($0) } ?? 1
            guard call.number(2) == count else { return .integer(Int64(count)) }
            return server[call.words[1]] == nil ? rule(server, call) : .wrongType
        }
    }

    /// The rule of a script that answers with the facts about a token.
    private static func change(_ body: @escaping @Sendable (inout TokenModel, WrittenCommand) -> Change) -> Rule {
        agreed { server, call in
            var token = TokenModel()
            if let value = server.record(call) {
                guard value[0] < 64 else {
                    let message = "a token record with flags \(value[0]) is not known here"
                    return .error(.server(prefix: "BELFRY", message: message))
                }
                guard let read = TokenModel(value) else {
                    return .error(.server(prefix: "ERR", message: "data string too short"))
                }
                token = read
            }
            var wasRevived = false
            switch body(&token, call) {
            case .asked: break
            case .written(let revived):
                wasRevived = revived
                if server[call.words[0]] == nil { server[call.words[0]] = "1" }
                server.hashes[call.words[1], default: [:]][call.words[3]] = token.value
                // Not every refusal finds room.
                token = TokenModel(token.value) ?? token
            case .removed:
                _ = server.remove(call)
                token = TokenModel()
            }
            let facts = [
                Int64(token.registered), Int64(token.tombstoned), Int64(token.reason), wasRevived ? 1 : 0,
                Int64(server.hashes[call.words[1]]?.count ?? 0),
            ]
            guard !token.refused.isEmpty else { return .integers(facts) }
            let refused = SimulatedReply.string(token.refusedBytes(room: TokenRecord.limitBytes))
            return .array(facts.map { .integer($0) } + [refused])
        }
    }

    private func record(_ call: WrittenCommand) -> [UInt8]? { hashes[call.words[1]]?[call.words[3]] }

    /// Removes a token's record; a tag's last one takes the directory along, unless the tag was ever split.
    ///
    /// - Returns: the number of removed records.
    private func remove(_ call: WrittenCommand) -> SimulatedReply {
        let bucket = call.words[1]
        let isRemoved = hashes[bucket]?.removeValue(forKey: call.words[3]) != nil
        if hashes[bucket]?.isEmpty ?? true {
            hashes[bucket] = nil
            if self[call.words[0]] == "1" { self[call.words[0]] = nil }
        }
        return .text(isRemoved ? "1" : "0")
    }

    // MARK: Times

    /// The rule of the sender's script for missing certificates. Arguments: now, life (milliseconds), whether it begins
    /// anew.
    static let missedSince: Rule = { server, call in
        let key = call.words[0]
        let known = call.integer(3) == 0 ? server[key].flatMap { Int64($0) } : nil
        let since = known ?? call.integer(1)
        server.set(key, "\(since)", milliseconds: Int(call.integer(2)))
        return .integer(since)
    }

    /// Arguments: now, window, stamp (milliseconds, offset), whether it is due.
    private func coalesce(_ call: WrittenCommand) -> SimulatedReply {
        let key = call.words[0]
        let (now, window, isDue) = (call.integer(1), call.integer(2), call.integer(5) == 1)
        let stamp = (call.integer(3), call.integer(4))
        let value = self[key].map { $0.split(separator: " ").compactMap { Int64($0) } }
        guard value?.count ?? 3 == 3 else {
            return .error(.server(prefix: "BELFRY", message: "a coalescing window of another form is not known here"))
        }
        var opened = value?[0] ?? 0
        var sent = value.map { ($0[1], $0[2]) } ?? (-1, -1)
        func write() { set(key, "\(opened) \(sent.0) \(sent.1)", milliseconds: Int(max(1, 2 * window))) }
        if stamp == sent { return .integer(0) }
        if stamp < sent { return .integer(isDue ? -1 : 0) }
        if opened == 0, value != nil || !isDue {
            opened = now
            write()
            return .integer(window)
        }
        if opened > 0 {
            let rest = min(window, opened + window - now)
            if rest > 0 { return .integer(rest) }
        }
        if isDue {
            opened = 0
            sent = stamp
            write()
        }
        return .integer(0)
    }
}

extension WrittenCommand {
    /// A word as a number in decimal, where it must be one.
    fileprivate func integer(_ index: Int) -> Int64 {
        guard let number = number(index) else { preconditionFailure("\(text(index)) is no number") }
        return Int64(number)
    }

    /// Of a call that changes a token: directory, bucket, number of buckets, field, time, and what is left.
    fileprivate var time: UInt32 { UInt32(integer(4)) }
}
