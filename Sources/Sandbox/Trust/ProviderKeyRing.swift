import APNsProtocol
import FoundationEssentials
import Logging
import PageParts
import Synchronization
import TLSTransport

/// A key whose provider tokens the service takes.
struct KnownProviderKey: Sendable {
    let id: ProviderKeyID
    let publicKey: ProviderPublicKey
    /// The key is good for this service's environment.
    let isOfEnvironment: Bool
    /// The bundle IDs that it reaches.
    let bundles: Set<String>
}

/// The keys for provider tokens as a new connection finds them: `keys.json` is read again when it has changed. "A
/// bundle ID added to a key later needs new connections" [later].
///
/// Used from every thread.
final class ProviderKeyRing: Sendable {
    private struct State {
        var follower = FileFollower()
        var keys: [KnownProviderKey] = []
    }

    private let file: String
    private let environment: PushEnvironment
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter file: may appear later: until then no provider token is valid.
    /// - Throws: ``SandboxSetupError`` naming the file.
    init(file: String, environment: PushEnvironment, logger: Logger) throws(SandboxSetupError) {
        self.file = file
        self.environment = environment
        self.logger = logger
        var state = State()
        if state.follower.observe(FollowedFileState(of: file)) == .load {
            state.keys = try Self.read(file, environment)
        }
        self.state = Mutex(state)
    }

    /// The keys for a connection that begins now.
    ///
    /// A list that cannot be used is logged, and the last good one stays in force.
    func keys() -> [KnownProviderKey] {
        state.withLock { state in
            switch state.follower.observe(FollowedFileState(of: file)) {
            case .keep:
                break
            case .reportMissing:
                logger.error("list of keys is missing; the last one stays in force", metadata: ["file": "\(file)"])
            case .load:
                do throws(SandboxSetupError) {
                    state.keys = try Self.read(file, environment)
                    logger.info("list of keys read", metadata: ["file": "\(file)", "keys": "\(state.keys.count)"])
                } catch {
                    logger.error(
                        "the list of keys cannot be used, the last good one stays in force",
                        metadata: ["file": "\(file)", "error": "\(error)"]
                    )
                }
            }
            return state.keys
        }
    }

    private static func read(
        _ file: String,
        _ environment: PushEnvironment
    ) throws(SandboxSetupError) -> [KnownProviderKey] {
        var known: [KnownProviderKey] = []
        for key in try ProviderKeyList(file: file).keys {
            guard let id = ProviderKeyID(team: key.team, key: key.id) else {
                throw SandboxSetupError(subject: file, problem: "has a team or a key whose id is none")
            }
            do throws(TLSConfigurationError) {
                known.append(
                    KnownProviderKey(
                        id: id,
                        publicKey: try ProviderPublicKey(pem: Array(key.publicKey.utf8)),
                        isOfEnvironment: key.environments.contains("\(environment)"),
                        bundles: Set(key.topics)
                    )
                )
            } catch {
                throw SandboxSetupError(subject: file, problem: "\(id): \(error)")
            }
        }
        return known
    }
}

extension ProviderKeyList {
    /// Reads the list.
    ///
    /// - Throws: ``SandboxSetupError`` naming the file.
    init(file: String) throws(SandboxSetupError) {
        do {
            self = try JSONDecoder().decode(ProviderKeyList.self, from: Data(contentsOf: URL(filePath: file)))
        } catch {
            throw SandboxSetupError(subject: file, problem: "is not a list of keys that can be read: \(error)")
        }
    }

    /// Writes the list; a file that is there is replaced at once.
    ///
    /// - Throws: ``SandboxSetupError`` naming the file.
    func write(to file: String) throws(SandboxSetupError) {
        do {
            try Data(DocumentJSON.encode(self) + [UInt8(ascii: "\n")]).write(to: URL(filePath: file), options: .atomic)
        } catch {
            throw SandboxSetupError(subject: file, problem: "cannot be written: \(error)")
        }
    }
}
