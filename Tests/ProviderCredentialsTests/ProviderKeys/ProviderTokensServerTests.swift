import APNsProtocol
import Foundation
import PipelineCore
import Synchronization
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import ProviderCredentials

/// The tokens that the process shows, signed by keys of files.
@Suite struct ProviderTokensServerTests {
    private static let id = ProviderKeyID(team: ProviderKeyFiles.team, key: "ABC123DEFG")!
    /// The wall clock at second 0, UNIX seconds: the first second in which the token of a slot is in use.
    private static let epoch = TokenMinting.issuedAt(id, unixSeconds: 1_700_000_000) + TokenMinting.backdatingSeconds
    private let files: ProviderKeyFiles

    init() throws { files = try ProviderKeyFiles() }

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000) }

    private func ask(_ tokens: ProviderTokens, _ second: Int64, _ id: ProviderKeyID = id) -> ProviderTokens.Answer {
        tokens.authorization(id, now: at(second), unixSeconds: Self.epoch + second)
    }

    private func authorization(
        _ tokens: ProviderTokens,
        _ second: Int64,
        _ id: ProviderKeyID = id
    ) throws -> ProviderTokens.Authorization {
        guard case .use(let authorization) = ask(tokens, second, id) else {
            throw TokenMissing(answer: ask(tokens, second, id))
        }
        return authorization
    }

    private struct TokenMissing: Error {
        let answer: ProviderTokens.Answer
    }

    /// The token in a header's value, verified by a key.
    private func token(_ authorization: ProviderTokens.Authorization, by key: ProviderKey) throws -> ProviderToken? {
        let scheme = Array("bearer ".utf8)
        try #require(authorization.value.starts(with: scheme))
        let signed = try Array(authorization.value.dropFirst(scheme.count)).withUnsafeBytes {
            try SignedProviderToken(compact: $0)
        }
        let isGenuine = try key.publicKey.verifies(signature: signed.signature, of: signed.signingInput)
        return isGenuine ? signed.token : nil
    }

    @Test("The header carries a token of the key's team and ID, signed by the key")
    func genuine() throws {
        let key = try files.add("ABC123DEFG")
        let tokens = ProviderTokens(keys: try files.store())
        let token = try token(try authorization(tokens, 0), by: key)
        #expect(token?.key == Self.id)
        #expect(token?.issuedAt == Self.epoch - TokenMinting.backdatingSeconds)
        #expect(try self.token(try authorization(tokens, 0), by: ProviderKey.generate()) == nil)
    }

    @Test("Every connection gets the same token until it is renewed after half an hour")
    func shared() throws {
        try files.add("ABC123DEFG")
        let tokens = ProviderTokens(keys: try files.store())
        let first = try authorization(tokens, 0)
        for second in [1, 100, 1799] as [Int64] { #expect(try authorization(tokens, second) == first) }
        let second = try authorization(tokens, 1800)
        #expect(second.value != first.value && second.serial == first.serial + 1 && second.edition == first.edition)
    }

    @Test("Processes that start one after the other, each with the key's file, have the same token to the byte")
    func restarts() throws {
        try files.add("ABC123DEFG")
        let values = try (0..<10).map { number in
            try authorization(ProviderTokens(keys: try files.store()), Int64(number) * 100).value
        }
        #expect(Set(values).count == 1)
    }

    @Test("Threads that ask at once get one token")
    func threads() async throws {
        try files.add("ABC123DEFG")
        let tokens = ProviderTokens(keys: try files.store())
        let answers = await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask {
                    tokens.authorization(Self.id, now: MonotonicTime(nanoseconds: 0), unixSeconds: Self.epoch)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 64 && answers.allSatisfy { $0 == answers[0] })
        #expect(tokens.reports.map(\.minted) == [1])
    }

    @Test("Each key has tokens of its own, in the reports, too")
    func keys() throws {
        let key = try files.add("ABC123DEFG")
        let other = try files.add("ABC123DEFG", team: "OTHERTEAM1")
        let otherID = try #require(ProviderKeyID(team: "OTHERTEAM1", key: "ABC123DEFG"))
        let tokens = ProviderTokens(keys: try files.store())
        #expect(tokens.reports.isEmpty)
        #expect(try token(try authorization(tokens, 0), by: key)?.key == Self.id)
        #expect(try token(try authorization(tokens, 7, otherID), by: other)?.key == otherID)
        _ = try authorization(tokens, 1800)
        #expect(
            tokens.reports == [
                .init(key: Self.id, minted: 2, issuedAt: Self.epoch + 1800 - TokenMinting.backdatingSeconds),
                .init(key: otherID, minted: 1, issuedAt: TokenMinting.issuedAt(otherID, unixSeconds: Self.epoch + 7)),
            ]
        )
    }

    @Test("A key that is not there has no token, and has one as soon as its file is read")
    func missing() throws {
        let store = try files.store()
        let tokens = ProviderTokens(keys: store)
        #expect(ask(tokens, 0) == .keyMissing)
        let key = try files.add("ABC123DEFG")
        _ = store.reload()
        #expect(try token(try authorization(tokens, 1), by: key) != nil)
    }

    @Test("A key exchanged while the process runs signs the next token at once; the former token's news do not count")
    func exchanged() throws {
        try files.add("ABC123DEFG")
        let store = try files.store()
        let tokens = ProviderTokens(keys: store)
        let before = try authorization(tokens, 0)
        let key = try files.add("ABC123DEFG")
        _ = store.reload()
        let after = try authorization(tokens, 5)
        #expect(try token(after, by: key) != nil)
        #expect(after.edition > before.edition && after.serial > before.serial)
        for second in [6, 7] as [Int64] {
            let verdict = tokens.refused(
                Self.id,
                serial: before.serial,
                connectionOpenedAt: at(second),
                now: at(second)
            )
            #expect(verdict == .retry)
        }
        #expect(try authorization(tokens, 1799) == after)
    }

    @Test("A second refusal of a token means that the team does not work; the next token comes when its slot begins")
    func refused() throws {
        try files.add("ABC123DEFG")
        let tokens = ProviderTokens(keys: try files.store())
        let first = try authorization(tokens, 0)
        func refuse(openedAt opened: Int64, now: Int64) -> TokenMinting.Verdict {
            tokens.refused(Self.id, serial: first.serial, connectionOpenedAt: at(opened), now: at(now))
        }
        #expect(refuse(openedAt: 0, now: 10) == .retry)
        #expect(refuse(openedAt: 0, now: 11) == .retry, "the connection stays wedged")
        #expect(refuse(openedAt: 12, now: 13) == .teamDoesNotWork)
        #expect(try authorization(tokens, 1799).serial == first.serial)
        #expect(try authorization(tokens, 1800).serial == first.serial + 1)
    }

    @Test("An acceptance over a newer connection ends the trial of a refused token")
    func accepted() throws {
        try files.add("ABC123DEFG")
        let tokens = ProviderTokens(keys: try files.store())
        let first = try authorization(tokens, 0)
        func refuse(openedAt opened: Int64, now: Int64) -> TokenMinting.Verdict {
            tokens.refused(Self.id, serial: first.serial, connectionOpenedAt: at(opened), now: at(now))
        }
        #expect(refuse(openedAt: 0, now: 10) == .retry)
        tokens.accepted(Self.id, serial: first.serial, connectionOpenedAt: at(11))
        #expect(refuse(openedAt: 12, now: 13) == .retry)
        #expect(refuse(openedAt: 14, now: 15) == .teamDoesNotWork)
    }

    @Test("News of a key of which no token was asked change nothing")
    func unknown() throws {
        let tokens = ProviderTokens(keys: try files.store())
        let verdict = tokens.refused(Self.id, serial: 1, connectionOpenedAt: at(0), now: at(0))
        #expect(verdict == .retry)
        tokens.accepted(Self.id, serial: 1, connectionOpenedAt: at(0))
        #expect(tokens.reports.isEmpty && ask(tokens, 0) == .keyMissing)
    }
}
