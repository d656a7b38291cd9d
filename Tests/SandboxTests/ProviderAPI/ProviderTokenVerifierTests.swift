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
            return .success(try verifier.verify(authorization: authorization, now: now).token)
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
    private let updates = TokenUpdates()

    static func token(
        _ issuedAt: Int64,
        team: String = "TEAM",
        key: String = "KEY",
        signature: UInt8 = 0
    ) throws -> SignedProviderToken {
        let id = try #require(ProviderKeyID(team: team, key: key))
        let compact = ProviderToken(key: id, issuedAt: issuedAt)
            .compact { _ in [UInt8](repeating: signature, count: ProviderToken.signatureBytes) }
        return try compact.withUnsafeBytes { try SignedProviderToken(compact: $0) }
    }

    static func take(
        _ tokens: inout ConnectionTokens,
        _ token: SignedProviderToken,
        _ now: Int64
    ) -> ProviderReason? {
        do throws(ProviderReason) {
            try tokens.takeToken(token, now: now)
            return nil
        } catch {
            return error
        }
    }

    private func connect(_ address: String = "192.0.2.1") -> ConnectionTokens {
        ConnectionTokens(address: address, updates: updates)
    }

    @Test("A client takes a new token, but not twice in 20 minutes, over one connection or over others")
    func updatesInTime() throws {
        let (old, new, newest) = (try Self.token(4000), try Self.token(5000), try Self.token(5001))
        var (first, second) = (connect(), connect())
        #expect(Self.take(&first, old, 5000) == nil)
        #expect(Self.take(&first, new, 5000) == nil)
        #expect(Self.take(&first, newest, 6199) == .tooManyProviderTokenUpdates)
        #expect(Self.take(&second, newest, 6199) == .tooManyProviderTokenUpdates)
        // Tokens that were taken go on.
        #expect(Self.take(&first, new, 6199) == nil)
        #expect(Self.take(&second, old, 6199) == nil)
        #expect(Self.take(&second, newest, 6200) == nil)
    }

    @Test("The same claims with another signature are another token")
    func signatures() throws {
        let signed = try (0..<3 as Range<UInt8>).map { try Self.token(0, signature: $0) }
        var tokens = connect()
        #expect(Self.take(&tokens, signed[0], 0) == nil)
        #expect(Self.take(&tokens, signed[1], 1) == nil)
        #expect(Self.take(&tokens, signed[2], 2) == .tooManyProviderTokenUpdates)
    }

    @Test("Other addresses and other keys count apart")
    func apart() throws {
        let signed = try (0..<3 as Range<Int64>).map { try Self.token($0) }
        let other = try Self.token(2, key: "OTHER")
        var (tokens, elsewhere) = (connect(), connect("192.0.2.2"))
        #expect(Self.take(&tokens, signed[0], 2) == nil)
        #expect(Self.take(&tokens, signed[1], 2) == nil)
        #expect(Self.take(&tokens, signed[2], 2) == .tooManyProviderTokenUpdates)
        #expect(Self.take(&elsewhere, signed[2], 2) == nil)
        #expect(Self.take(&tokens, other, 2) == nil)
    }

    @Test("A client that comes back when its tokens have run out begins anew, as after a clock that was set back")
    func forgotten() throws {
        let signed = try [0, 1, 3700, 3701, 3702, 3699].map { try Self.token($0) }
        var tokens = connect()
        #expect(Self.take(&tokens, signed[0], 3000) == nil)
        #expect(Self.take(&tokens, signed[1], 3000) == nil)
        #expect(Self.take(&tokens, signed[2], 3700) == nil)
        #expect(Self.take(&tokens, signed[3], 3700) == nil)
        #expect(Self.take(&tokens, signed[4], 3702) == .tooManyProviderTokenUpdates)
        #expect(Self.take(&tokens, signed[5], 3699) == nil)
    }

    @Test("A connection belongs to one team, whose keys it takes")
    func teams() throws {
        let (own, foreign) = (try Self.token(0), try Self.token(0, team: "OTHER"))
        let sibling = try Self.token(0, key: "OTHER")
        var tokens = connect()
        #expect(Self.take(&tokens, own, 0) == nil)
        #expect(Self.take(&tokens, foreign, 1) == .unrelatedKeyID)
        #expect(Self.take(&tokens, sibling, 2) == nil)
    }

    @Test("A connection that has answered that a token is expired stays of no use")
    func wedged() throws {
        let (old, new) = (try Self.token(0), try Self.token(9000))
        var tokens = connect()
        #expect(Self.take(&tokens, old, 0) == nil)
        tokens.wedge()
        #expect(Self.take(&tokens, new, 9000) == .expiredProviderToken)
    }
}
