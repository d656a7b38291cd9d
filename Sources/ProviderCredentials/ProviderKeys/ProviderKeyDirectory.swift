import APNsProtocol
import BelfrySupport
import TLSTransport

/// The provider keys of a directory: `AuthKey_<key ID>.p8`, as Apple hands them out.
///
/// Keys directly in it belong to the team that the configuration names, keys in a subdirectory to the team that it is
/// named after. A `*.p8` file that cannot be used is a fault, which concerns its own key alone. All other files are
/// passed over, and so are names that begin with a full stop, which mounted secrets have.
struct ProviderKeyDirectory: Sendable {
    struct Entry: Sendable {
        let file: String
        let id: ProviderKeyID
        let key: ProviderKey
    }

    let path: String
    /// The keys, by file.
    private(set) var entries: [Entry] = []
    /// The files that cannot be used, by name.
    private(set) var faults: [ProviderKeyError] = []
    /// The files of keys that all users of this machine can read, by name.
    private(set) var exposed: [String] = []

    /// Reads every key. Blocks.
    ///
    /// - Parameter team: of the keys directly in the directory; nil: such keys are faults.
    /// - Throws: ``ProviderKeyError`` that names the directory: it cannot be read.
    init(path: String, team: String?) throws(ProviderKeyError) {
        self.path = path
        for name in try Self.names(in: path) {
            let place = "\(path)/\(name)"
            if CredentialFiles.isDirectory(place) {
                if ProviderKeyID.isID(name) { addKeys(of: name, in: place) }
            } else {
                addKey(place, named: name, of: team)
            }
        }
    }

    private mutating func addKeys(of team: String, in directory: String) {
        do throws(ProviderKeyError) {
            for name in try Self.names(in: directory) { addKey("\(directory)/\(name)", named: name, of: team) }
        } catch {
            faults.append(error)
        }
    }

    private mutating func addKey(_ file: String, named name: String, of team: String?) {
        guard name.hasSuffix(".p8") else { return }
        do throws(ProviderKeyError) {
            let id = try Self.id(of: file, named: name, of: team)
            if let other = entries.first(where: { $0.id == id }) {
                throw ProviderKeyError(file: file, reason: "the same team and key ID have \(other.file)")
            }
            entries.append(Entry(file: file, id: id, key: try Self.key(in: file)))
            if ExposedFile.isExposed(file) { exposed.append(file) }
        } catch {
            faults.append(error)
        }
    }

    private static func id(
        of file: String,
        named name: String,
        of team: String?
    ) throws(ProviderKeyError) -> ProviderKeyID {
        let (beginning, end) = ("AuthKey_", ".p8")
        let key = String(name.dropFirst(beginning.count).dropLast(end.count))
        guard name.hasPrefix(beginning), ProviderKeyID.isID(key) else {
            throw ProviderKeyError(file: file, reason: "its name does not tell the key's ID: AuthKey_<key ID>.p8")
        }
        guard let team else {
            throw ProviderKeyError(
                file: file,
                reason: "its team is not known: set keys.team, or move it to a subdirectory with the team's ID as name"
            )
        }
        guard let id = ProviderKeyID(team: team, key: key) else {
            throw ProviderKeyError(file: file, reason: "its team \"\(team)\" is no team's ID")
        }
        return id
    }

    // MARK: Files

    private static func names(in directory: String) throws(ProviderKeyError) -> [String] {
        do {
            return try CredentialFiles.names(in: directory)
        } catch {
            throw ProviderKeyError(file: directory, reason: "the directory cannot be read")
        }
    }

    private static func key(in file: String) throws(ProviderKeyError) -> ProviderKey {
        do throws(TLSConfigurationError) {
            return try ProviderKey(file: file)
        } catch {
            let reason = TLSConfigurationError(error.reason, openSSLErrors: error.openSSLErrors).description
            throw ProviderKeyError(file: file, reason: reason)
        }
    }
}

/// A provider key, or a directory of them, that cannot be used.
public struct ProviderKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    public let file: String
    public let reason: String

    public var description: String { "\(file): \(reason)" }

    init(file: String, reason: String) {
        self.file = file
        self.reason = reason
    }
}
