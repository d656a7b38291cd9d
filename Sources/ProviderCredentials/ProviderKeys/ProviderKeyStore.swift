import APNsProtocol
import BelfrySupport
import Synchronization
import TLSTransport

/// The provider keys of the process as they are now, shared by all shards and read again while it runs.
///
/// Any thread may ask. ``reload()`` reads files and blocks: not for event loops. A key whose file vanishes or breaks
/// stays in use, so that a slip of the hand stops no app; only as a team's default another key takes its place.
public final class ProviderKeyStore: Sendable {
    /// A key in use.
    package struct Held: Equatable, Sendable {
        package let id: ProviderKeyID
        package let key: ProviderKey
        /// Rises when another key takes this one's place under the same ID.
        package let edition: UInt64
    }

    /// The difference that one reading made; keys are sorted.
    struct Change: Equatable, Sendable {
        var added: [ProviderKeyID] = []
        /// IDs that stand for another key than before.
        var replaced: [ProviderKeyID] = []
        /// Keys whose file is gone, or broken, since this reading.
        var vanished: [ProviderKeyID] = []
        /// All files that cannot be used now.
        var faults: [ProviderKeyError] = []
        /// The ``faults`` that the reading before did not have.
        var newFaults: [ProviderKeyError] = []
        /// Files that all users can read, and could not before.
        var newExposed: [String] = []

        /// Nothing to tell.
        var isEmpty: Bool {
            added.isEmpty && replaced.isEmpty && vanished.isEmpty && newFaults.isEmpty && newExposed.isEmpty
        }
    }

    /// State that one reading leaves for the next.
    private struct Files {
        var faults: [ProviderKeyError] = []
        var exposed: [String] = []
        /// Keys that are held although their file is gone.
        var vanished: Set<ProviderKeyID> = []
    }

    private struct Keys {
        var held: [ProviderKeyID: Held] = [:]
        /// By team.
        var defaults: [String: ProviderKeyID] = [:]
    }

    /// Nil: there are no keys.
    package let path: String?
    private let team: String?
    private let rule: ProviderKeyRule
    /// Held for as long as files are read.
    private let files: Mutex<Files>
    private let keys = Mutex(Keys())
    private let changes = Atomic<UInt64>(0)

    /// Reads the configured directory.
    ///
    /// - Throws: ``ProviderKeyError`` that names the directory.
    public init(_ configuration: BelfryConfiguration) throws(ProviderKeyError) {
        path = configuration.keys.directory
        team = configuration.keys.team
        rule = ProviderKeyRule(configuration)
        files = Mutex(Files())
        guard let path else { return }
        let directory = try ProviderKeyDirectory(path: path, team: team)
        files.withLock { files in _ = adoptKeys(of: directory, &files) }
    }

    // MARK: Asked by shards

    /// A key in use; nil: there was never one of this ID.
    package func key(_ id: ProviderKeyID) -> Held? {
        keys.withLock { $0.held[id] }
    }

    /// Rises whenever ``keyID(bundleID:)`` may answer otherwise than before.
    package var generation: UInt64 { changes.load(ordering: .acquiring) }

    /// The key for a bundle; nil: there is none.
    package func keyID(bundleID: String) -> ProviderKeyID? {
        guard path != nil, let choice = rule.choice(bundleID: bundleID) else { return nil }
        return keys.withLock { keys in
            switch choice {
            case .key(let id): keys.held[id]?.id
            case .team(let team): keys.defaults[team]
            }
        }
    }

    /// The configuration gives the bundle a key, even beside a certificate.
    package func isNamed(bundleID: String) -> Bool { rule.isNamed(bundleID: bundleID) }

    /// The keys in use, sorted.
    package var ids: [ProviderKeyID] { keys.withLock { Array($0.held.keys) }.inOrder }

    /// The files that could not be used when the directory was read last.
    package var faults: [ProviderKeyError] { files.withLock { $0.faults } }

    /// The files of keys that all users could read when the directory was read last.
    package var exposed: [String] { files.withLock { $0.exposed } }

    // MARK: Reading again

    /// Reads the directory again. Blocks; concurrent calls wait for each other.
    ///
    /// A directory that cannot be read is a fault and changes nothing else.
    func reload() -> Change {
        guard let path else { return Change() }
        return files.withLock { files in
            do throws(ProviderKeyError) {
                return adoptKeys(of: try ProviderKeyDirectory(path: path, team: team), &files)
            } catch {
                defer { files.faults = [error] }
                return Change(faults: [error], newFaults: files.faults.contains(error) ? [] : [error])
            }
        }
    }

    private func adoptKeys(of directory: ProviderKeyDirectory, _ files: inout Files) -> Change {
        var change = Change()
        keys.withLock { keys in
            for entry in directory.entries {
                let known = keys.held[entry.id]
                guard known?.key != entry.key else { continue }
                keys.held[entry.id] = Held(id: entry.id, key: entry.key, edition: (known?.edition ?? 0) + 1)
                if known == nil { change.added.append(entry.id) } else { change.replaced.append(entry.id) }
            }
            let gone = Set(keys.held.keys).subtracting(directory.entries.map(\.id))
            change.vanished = Array(gone.subtracting(files.vanished))
            files.vanished = gone
            let defaults = rule.defaults(among: keys.held.keys, gone: gone)
            let isNews = !change.added.isEmpty || defaults != keys.defaults
            keys.defaults = defaults
            if isNews { changes.add(1, ordering: .releasing) }
        }
        change.added = change.added.inOrder
        change.replaced = change.replaced.inOrder
        change.vanished = change.vanished.inOrder
        change.faults = directory.faults
        change.newFaults = directory.faults.filter { !files.faults.contains($0) }
        change.newExposed = directory.exposed.filter { !files.exposed.contains($0) }
        files.faults = directory.faults
        files.exposed = directory.exposed
        return change
    }
}

extension [ProviderKeyID] {
    /// Sorted by team and key.
    package var inOrder: Self { sorted { ($0.team, $0.key) < ($1.team, $1.key) } }
}
