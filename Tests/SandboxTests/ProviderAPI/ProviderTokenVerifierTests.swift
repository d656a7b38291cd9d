import APNsProtocol
import TLSTransport
import Testing

@testable import Sandbox

@Suite final class ProviderTokenVerifierTests {
    static let now: Int64 = 1_437_179_036

    let id = ProviderKeyID(team: "DEF123GHIJ", key: "ABC123DEFG")!
    let key: ProviderKey
    var verifier: ProviderTokenVerifier

    init() throws {
        key = try ProviderKey.generate()
        verifier = ProviderTokenVerifier(keys: [.init(id: id, publicKey: try key.publicKey, isOfEnvironment: true)])
    }

    func header(
        _ scheme: String = "bearer ",
        id: ProviderKeyID? = nil,
        issuedAt: Int64 = ProviderTokenVerifierTests.now,
        key: ProviderKey? = nil
    ) throws -> String {
        let token = ProviderToken(key: id ?? self.id, issuedAt: issuedAt)
        let compact = try token.compact { input throws(TLSConfigurationError) in
            try (key ?? self.key).signature(of: input)
        }
        return scheme + String(decoding: compact, as: UTF8.self)
    }

    func verify(
        _ header: String?,
        now: Int64 = ProviderTokenVerifierTests.now
    ) -> Result<ProviderToken, ProviderReason> {
        guard let header else { return Self.verify(&verifier, nil, now) }
        return Array(header.utf8).withUnsafeBytes { Self.verify(&verifier, $0, now) }
    }

    static func verify(
        _ verifier: inout ProviderTokenVerifier,
        _ authorization: UnsafeRawBufferPointer?,
        _ now: Int64
    ) -> Result<ProviderToken, ProviderReason> {
        do throws(ProviderReason) {
            return .success(try verifier.verify(authorization: authorization, now: now))
        } catch {
            return .failure(error)
        }
    }

    @Test("A token of a known key and team is accepted, over and over, whatever the case of its scheme")
    func accepted() throws {
        for scheme in ["bearer ", "Bearer ", "BEARER "] {
            let header = try self.header(scheme)
            for _ in 0..<3 { #expect(verify(header) == .success(ProviderToken(key: id, issuedAt: Self.now))) }
        }
    }

    @Test("Without a token there is none")
    func missing() throws {
        for header in [nil, "", "bearer", "bearer ", "basic abc", try self.header(""), try self.header("bearer\t")] {
            #expect(verify(header) == .failure(.missingProviderToken))
        }
    }

    @Test("A token of another key, team or signature is invalid, also when a good one came before")
    func invalid() throws {
        let good = try header()
        #expect(verify(good) == .success(ProviderToken(key: id, issuedAt: Self.now)))
        let otherKey = try #require(ProviderKeyID(team: id.team, key: "OTHER"))
        let otherTeam = try #require(ProviderKeyID(team: "OTHER", key: id.key))
        let bad = [
            try header(id: otherKey), try header(id: otherTeam), try header(key: .generate()),
            "bearer x", "bearer ..", good + "A", String(good.dropLast(3)),
        ]
        for header in bad { #expect(verify(header) == .failure(.invalidProviderToken)) }
        #expect(verify(good) == .success(ProviderToken(key: id, issuedAt: Self.now)))
    }

    @Test("A token expires after an hour, also one that was accepted before, and is not taken from far ahead")
    func expired() throws {
        let header = try self.header()
        #expect(throws: Never.self) { try verify(header, now: Self.now + 3600).get() }
        #expect(verify(header, now: Self.now + 3601) == .failure(.expiredProviderToken))
        #expect(throws: Never.self) { try verify(header, now: Self.now - 60).get() }
        #expect(verify(header, now: Self.now - 61) == .failure(.expiredProviderToken))
    }

    @Test("A key of the other environment is named as such")
    func environment() throws {
        verifier = ProviderTokenVerifier(keys: [.init(id: id, publicKey: try key.publicKey, isOfEnvironment: false)])
        #expect(verify(try header()) == .failure(.badEnvironmentKeyID))
        #expect(verify(try header(key: .generate())) == .failure(.invalidProviderToken))
    }
}

@Suite struct ConnectionTokensTests {
    static func token(_ issuedAt: Int64, team: String = "TEAM", key: String = "KEY") -> ProviderToken {
        ProviderToken(key: ProviderKeyID(team: team, key: key)!, issuedAt: issuedAt)
    }

    static func take(
        _ tokens: inout ConnectionTokens,
        _ token: ProviderToken,
        _ now: Int64
    ) -> ProviderReason? {
        do throws(ProviderReason) {
            try tokens.takeToken(token, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("A connection takes a new token, but not twice in 20 minutes")
    func updates() {
        var tokens = ConnectionTokens()
        #expect(Self.take(&tokens, Self.token(0), 0) == nil)
        #expect(Self.take(&tokens, Self.token(0), 5000) == nil)
        #expect(Self.take(&tokens, Self.token(1), 5000) == nil)
        #expect(Self.take(&tokens, Self.token(2), 6199) == .tooManyProviderTokenUpdates)
        // The present one goes on.
        #expect(Self.take(&tokens, Self.token(1), 6199) == nil)
        #expect(Self.take(&tokens, Self.token(2), 6200) == nil)
    }

    @Test("A connection belongs to one team, whose keys it takes")
    func teams() {
        var tokens = ConnectionTokens()
        #expect(Self.take(&tokens, Self.token(0), 0) == nil)
        #expect(Self.take(&tokens, Self.token(0, team: "OTHER"), 1) == .unrelatedKeyID)
        #expect(Self.take(&tokens, Self.token(0, key: "OTHER"), 2) == nil)
    }

    @Test("A connection that has answered that a token is expired stays of no use")
    func wedged() {
        var tokens = ConnectionTokens()
        #expect(Self.take(&tokens, Self.token(0), 0) == nil)
        tokens.wedge()
        #expect(Self.take(&tokens, Self.token(9000), 9000) == .expiredProviderToken)
    }
}
