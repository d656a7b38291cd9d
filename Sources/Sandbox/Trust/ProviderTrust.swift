import Logging
import Synchronization
import TLSTransport

/// Lets providers in by their certificates. Those with one of the authority that is not on its revocation list are let
/// in. "The gateway keeps a revocation list and refuses revoked certificates" [13].
///
/// Used from every thread.
final class ProviderTrust: Sendable {
    /// Place of the revocation list.
    enum RevocationFile: Equatable, Sendable {
        /// It has to be there when the sandbox starts.
        case required(String)
        /// It may appear later.
        case optional(String)

        var path: String {
            switch self {
            case .required(let path), .optional(let path): path
            }
        }
    }

    /// Contexts of one revocation list.
    private struct Contexts {
        /// Of the binary interface and the courier: without a certificate no client is served [10].
        let binary: TLSContext
        /// Of the provider API: each client is asked for a certificate, provider tokens do without [later].
        let api: TLSContext
    }

    private struct State {
        var follower = FileFollower()
        var contexts: Contexts
    }

    private let identity: TLSIdentity
    private let authority: TLSTrust
    private let file: String
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - serverFile: the service's certificate and key.
    ///   - authorityFile: the authority of the providers and of the revocation list.
    /// - Throws: ``TLSConfigurationError`` naming the file that is missing or wrong.
    init(
        serverFile: String,
        authorityFile: String,
        revocations: RevocationFile,
        logger: Logger
    ) throws(TLSConfigurationError) {
        identity = try TLSIdentity(pemFile: serverFile)
        // Kept, so that every list is judged by the same authority.
        authority = try TLSTrust.file(authorityFile).inMemory()
        file = revocations.path
        self.logger = logger
        var follower = FileFollower()
        let isThere = follower.observe(FollowedFileState(of: file)) == .load
        var list: RevocationList?
        if isThere || revocations == .required(file) {
            list = try RevocationList(pemFile: file, issuedBy: authority)
        }
        let contexts = try Self.contexts(identity, authority, list)
        state = Mutex(State(follower: follower, contexts: contexts))
    }

    /// The context for a connection of the binary interface, or of a device, that begins now.
    func context() -> TLSContext { contexts().binary }

    /// The context for a connection to the provider API that begins now.
    func apiContext() -> TLSContext { contexts().api }

    /// Reads the list when its file has changed: a few kilobytes, and the other threads' new connections wait for it.
    /// One that cannot be used is logged, and the last good one stays in force.
    private func contexts() -> Contexts {
        state.withLock { state in
            switch state.follower.observe(FollowedFileState(of: file)) {
            case .keep:
                break
            case .reportMissing:
                logger.error("revocation list is missing; the last one stays in force", metadata: ["file": "\(file)"])
            case .load:
                if let contexts = load() { state.contexts = contexts }
            }
            return state.contexts
        }
    }

    private func load() -> Contexts? {
        do throws(TLSConfigurationError) {
            let list = try RevocationList(pemFile: file, issuedBy: authority)
            let contexts = try Self.contexts(identity, authority, list)
            logger.info("revocation list read", metadata: ["file": "\(file)", "revoked": "\(list.entries.count)"])
            return contexts
        } catch {
            logger.error(
                "the revocation list cannot be used, the last good one stays in force",
                metadata: ["file": "\(file)", "error": "\(error)"]
            )
            return nil
        }
    }

    private static func contexts(
        _ identity: TLSIdentity,
        _ authority: TLSTrust,
        _ revocations: RevocationList?
    ) throws(TLSConfigurationError) -> Contexts {
        let binary = try TLSContext(
            server: identity,
            clientTrust: authority,
            requireClientCertificate: true,
            revocations: revocations
        )
        let api = try TLSContext(
            server: identity,
            clientTrust: authority,
            requireClientCertificate: false,
            revocations: revocations,
            protocols: ["h2"],
            // The service does not insist on ALPN [field], and a client that speaks HTTP/1.1 is told so in words.
            refusesOtherProtocols: false
        )
        return Contexts(binary: binary, api: api)
    }
}
