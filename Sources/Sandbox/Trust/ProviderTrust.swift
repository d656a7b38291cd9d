import Glibc
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

    private struct State {
        var follower = RevocationFollower()
        var context: TLSContext
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
        var follower = RevocationFollower()
        let isThere = follower.observe(Self.stamp(of: file)) == .load
        var list: RevocationList?
        if isThere || revocations == .required(file) {
            list = try RevocationList(pemFile: file, issuedBy: authority)
        }
        let context = try Self.context(identity, authority, list)
        state = Mutex(State(follower: follower, context: context))
    }

    /// The context for a connection that begins now.
    ///
    /// Reads the list when its file has changed: a few kilobytes, and the other threads' new connections wait for it.
    /// One that cannot be used is logged, and the last good one stays in force.
    func context() -> TLSContext {
        state.withLock { state in
            switch state.follower.observe(Self.stamp(of: file)) {
            case .keep:
                break
            case .reportMissing:
                logger.error("the revocation list is gone, what it said stays in force", metadata: ["file": "\(file)"])
            case .load:
                if let context = load() { state.context = context }
            }
            return state.context
        }
    }

    private func load() -> TLSContext? {
        do throws(TLSConfigurationError) {
            let list = try RevocationList(pemFile: file, issuedBy: authority)
            let context = try Self.context(identity, authority, list)
            logger.info("revocation list read", metadata: ["file": "\(file)", "revoked": "\(list.entries.count)"])
            return context
        } catch {
            logger.error(
                "the revocation list cannot be used, the last good one stays in force",
                metadata: ["file": "\(file)", "error": "\(error)"]
            )
            return nil
        }
    }

    private static func context(
        _ identity: TLSIdentity,
        _ authority: TLSTrust,
        _ revocations: RevocationList?
    ) throws(TLSConfigurationError) -> TLSContext {
        try TLSContext(
            server: identity,
            clientTrust: authority,
            requireClientCertificate: true,
            revocations: revocations
        )
    }

    private static func stamp(of file: String) -> FileStamp? {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        return FileStamp(
            inode: UInt64(status.st_ino),
            sizeBytes: Int64(status.st_size),
            modifiedNanoseconds: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        )
    }
}
