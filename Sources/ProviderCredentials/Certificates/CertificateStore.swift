import APNsProtocol
import BelfrySupport
import Foundation
import Synchronization
import TLSTransport

/// The certificates of the process as they are now, shared by all shards and read again while it runs.
///
/// Any thread may ask. ``reload()`` reads files and blocks: not for event loops. A bundle keeps the last certificate
/// it had when its file vanishes or breaks, so that a slip of the hand stops no app.
public final class CertificateStore: Sendable {
    /// A bundle in an environment, with one of its certificates.
    package struct Name: Hashable, Comparable, Sendable, CustomStringConvertible {
        package var environment: String
        package var bundleID: String
        /// The certificate of VoIP Services.
        package var isVoIP: Bool

        package init(environment: String, bundleID: String, isVoIP: Bool = false) {
            self.environment = environment
            self.bundleID = bundleID
            self.isVoIP = isVoIP
        }

        package var description: String { "\(environment)/\(bundleID)\(isVoIP ? " (VoIP Services)" : "")" }

        package static func < (left: Name, right: Name) -> Bool {
            (left.environment, left.bundleID, left.isVoIP ? 1 : 0)
                < (right.environment, right.bundleID, right.isVoIP ? 1 : 0)
        }
    }

    /// The certificates of one bundle, for metrics.
    package struct Certificate: Equatable, Sendable {
        package var bundleID: String
        package var environment: String
        /// Of the one that ends first, UNIX seconds.
        package var notAfter: Int64
    }

    /// The difference that one reading made; names are sorted.
    package struct Change: Equatable, Sendable {
        /// Bundles that had no certificate before.
        var added: [Name] = []
        /// Bundles with another certificate, other roots or revocations than before: for the connections to come.
        var replaced: [Name] = []
        /// Bundles whose certificate is gone since this reading; they keep the last one.
        var vanished: [Name] = []
        /// All files that cannot be used now.
        var faults: [CertificateDirectoryError] = []
        /// The ``faults`` that the reading before did not have.
        var newFaults: [CertificateDirectoryError] = []
        /// Files from which a certificate could come, and does not since this reading.
        var newUnused: [CertificateDirectory.PassedOver] = []
        /// Files of keys that all users can read since this reading.
        var newExposed: [String] = []

        /// Nothing to tell.
        var isEmpty: Bool {
            added.isEmpty && replaced.isEmpty && vanished.isEmpty && newFaults.isEmpty && newUnused.isEmpty
                && newExposed.isEmpty
        }
    }

    /// One bundle's certificate and what was made of it.
    private struct Held {
        var entry: CertificateDirectory.Entry
        var trust: GatewayTrust
        var context: TLSContext
        let reach: ProviderCredential
        /// Number of its bundle's contexts so far.
        var edition: UInt64
    }

    /// The context of an environment's connections without a certificate.
    private struct Anonymous {
        let trust: GatewayTrust
        let context: TLSContext
        /// Number of its environment's contexts so far.
        let edition: UInt64
    }

    /// State that one reading leaves for the next.
    private struct Files {
        var directory: CertificateDirectory
        /// By environment, as they were last readable.
        var trusts: [String: GatewayTrust]
        var faults: [CertificateDirectoryError]
        /// Bundles that keep a certificate whose file is gone.
        var vanished: Set<Name> = []
    }

    let path: String
    private let environments: [EnvironmentSettings]
    /// UNIX seconds.
    private let now: @Sendable () -> Int64
    /// Held for as long as files are read.
    private let files: Mutex<Files>
    private let held: Mutex<[Name: Held]>
    /// By environment with HTTP/2.
    private let anonymous: Mutex<[String: Anonymous]>
    private let changes = Atomic<UInt64>(0)

    /// Reads the configured directory.
    ///
    /// - Throws: ``CertificateDirectoryError`` that names the directory, or the file of roots or revocations.
    public convenience init(_ configuration: BelfryConfiguration) throws(CertificateDirectoryError) {
        try self.init(
            CertificateDirectory(configuration.certificates),
            environments: configuration.environments
        )
    }

    /// Reads a directory for some environments.
    ///
    /// - Parameter now: UNIX seconds; asked at every reading.
    package convenience init(
        path: String,
        environments: [EnvironmentSettings],
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) throws(CertificateDirectoryError) {
        try self.init(CertificateDirectory(path: path), environments: environments, now: now)
    }

    package init(
        _ directory: CertificateDirectory,
        environments: [EnvironmentSettings],
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) throws(CertificateDirectoryError) {
        path = directory.path
        self.environments = environments
        self.now = now
        var trusts: [String: GatewayTrust] = [:]
        var anonymous: [String: Anonymous] = [:]
        for environment in environments {
            let trust = try Self.trust(of: environment)
            trusts[environment.name] = trust
            if environment.transport == .http2 {
                anonymous[environment.name] = try Self.anonymous(in: environment, trust)
            }
        }
        var contexts: [Name: Held] = [:]
        for (name, entry) in Self.choose(from: directory, for: environments, now: now()) {
            guard let trust = trusts[name.environment] else { continue }
            contexts[name] = try Self.hold(entry, trust: trust)
        }
        files = Mutex(Files(directory: directory, trusts: trusts, faults: directory.faults))
        held = Mutex(contexts)
        self.anonymous = Mutex(anonymous)
    }

    // MARK: Asked by shards

    /// The context of a bundle's connections to come; nil: the bundle has no certificate.
    package func context(bundleID: String, environment: String, isVoIP: Bool = false) -> TLSContext? {
        let name = Name(environment: environment, bundleID: bundleID, isVoIP: isVoIP)
        return held.withLock { $0[name]?.context }
    }

    /// The context of connections to come that show provider tokens; nil: the environment takes none.
    package func contextWithoutCertificate(environment: String) -> TLSContext? {
        anonymous.withLock { $0[environment]?.context }
    }

    /// Rises with each other certificate, or other trust, of a bundle's connections to come; 0: it never had one.
    package func edition(bundleID: String, environment: String, isVoIP: Bool = false) -> UInt64 {
        let name = Name(environment: environment, bundleID: bundleID, isVoIP: isVoIP)
        return held.withLock { $0[name]?.edition ?? 0 }
    }

    /// Rises with each other trust of an environment's connections that show provider tokens; 0: it takes none.
    package func editionWithoutCertificate(environment: String) -> UInt64 {
        anonymous.withLock { $0[environment]?.edition ?? 0 }
    }

    package func has(bundleID: String, environment: String) -> Bool {
        context(bundleID: bundleID, environment: environment) != nil
    }

    /// The bundle's certificate, or the one of VoIP Services, covers the topic of a push type.
    package func covers(_ pushType: PushType, bundleID: String, environment: String, isVoIP: Bool) -> Bool {
        let name = Name(environment: environment, bundleID: bundleID, isVoIP: isVoIP)
        return held.withLock { $0[name]?.reach.allows(topic: pushType.topic(bundle: bundleID)) ?? false }
    }

    /// Rises whenever a context is there that was not before. Cheap to ask at every turn.
    package var generation: UInt64 { changes.load(ordering: .acquiring) }

    /// The bundles with certificates in use, by environment and bundle.
    package var certificates: [Certificate] {
        let ends = held.withLock { held in
            held.reduce(into: [Name: Int64]()) { ends, held in
                let bundle = Name(environment: held.key.environment, bundleID: held.key.bundleID)
                ends[bundle] = min(ends[bundle] ?? .max, held.value.entry.identity.certificate.notAfter)
            }
        }
        return ends.sorted { $0.key < $1.key }
            .map { Certificate(bundleID: $0.key.bundleID, environment: $0.key.environment, notAfter: $0.value) }
    }

    /// The files that could not be used when the directory was read last.
    package var faults: [CertificateDirectoryError] { files.withLock { $0.faults } }

    /// The files from which a certificate could come, and did not when the directory was read last.
    package var unused: [CertificateDirectory.PassedOver] { files.withLock { $0.directory.unused } }

    /// The files of keys that all users could read when the directory was read last.
    package var exposed: [String] { files.withLock { $0.directory.exposed } }

    /// The contexts of an environment, by bundle; those of VoIP Services are not among them.
    package func contexts(environment: String) -> [String: TLSContext] {
        held.withLock { held in
            Dictionary(
                uniqueKeysWithValues: held.filter { $0.key.environment == environment && !$0.key.isVoIP }
                    .map { ($0.key.bundleID, $0.value.context) }
            )
        }
    }

    /// Refuses a directory that leaves a worker nothing to do.
    ///
    /// An expired certificate is one: clocks differ, the gateway decides, and a new file is taken while the worker
    /// runs.
    ///
    /// - Throws: ``CertificateDirectoryError`` (exit code 78) that names the directory and what to do.
    package func requireCertificate() throws(CertificateDirectoryError) {
        guard held.withLock({ $0.isEmpty }) else { return }
        let names = environments.map(\.name).sorted().joined(separator: ", ")
        let reasons = faults.map(\.description) + unused.map { "\($0.file): \($0.reason)" }
        let unusable =
            reasons.isEmpty
            ? "" : "; \(reasons.count) of its files cannot be used, the first is \(reasons[0])"
        throw CertificateDirectoryError(
            file: path,
            reason: "the directory holds no certificate for any configured environment (\(names)): put each bundle's "
                + "certificate with its key there, as .pem, as .p12 with its .passphrase, or as tls.crt with tls.key, "
                + "and look at it with \"belfry certificates check\"\(unusable)"
        )
    }

    // MARK: Reading again

    /// Roots and revocation lists.
    var trustFiles: [String] { environments.flatMap { [$0.trustFile, $0.revocationFile].compactMap(\.self) } }

    /// Reads the directory again. Blocks; concurrent calls wait for each other.
    ///
    /// A directory that cannot be read is a fault and changes nothing else.
    @discardableResult package func reload() -> Change {
        files.withLock { files in
            var change = Change()
            var faults: [CertificateDirectoryError] = []
            do throws(CertificateDirectoryError) {
                let known = Set(files.directory.unused)
                let exposed = files.directory.exposed
                files.directory = try files.directory.again()
                change.newUnused = files.directory.unused.filter { !known.contains($0) }
                change.newExposed = files.directory.exposed.filter { !exposed.contains($0) }
                refreshTrusts(&files.trusts, &faults)
                refreshAnonymous(files.trusts, &faults)
                takeFiles(&files, &change, &faults)
            } catch {
                faults.append(error)
            }
            let known = Set(files.faults)
            change.faults = faults
            change.newFaults = faults.filter { !known.contains($0) }
            files.faults = faults
            return change
        }
    }

    /// Roots or a revocation list that cannot be read stay as they were.
    private func refreshTrusts(_ trusts: inout [String: GatewayTrust], _ faults: inout [CertificateDirectoryError]) {
        for environment in environments {
            do throws(CertificateDirectoryError) {
                trusts[environment.name] = try Self.trust(of: environment)
            } catch {
                if !faults.contains(error) { faults.append(error) }
            }
        }
    }

    private func refreshAnonymous(_ trusts: [String: GatewayTrust], _ faults: inout [CertificateDirectoryError]) {
        for environment in environments where environment.transport == .http2 {
            let known = anonymous.withLock { $0[environment.name] }
            guard let trust = trusts[environment.name], trust != known?.trust else { continue }
            do throws(CertificateDirectoryError) {
                let made = try Self.anonymous(in: environment, trust, edition: (known?.edition ?? 0) + 1)
                anonymous.withLock { $0[environment.name] = made }
                changes.add(1, ordering: .releasing)
            } catch {
                if !faults.contains(error) { faults.append(error) }
            }
        }
    }

    private func takeFiles(_ files: inout Files, _ change: inout Change, _ faults: inout [CertificateDirectoryError]) {
        // A file of roots that lies in the directory is told once.
        let others = files.directory.faults.filter { !faults.contains($0) }
        faults += others
        let before = held.withLock { $0 }
        let chosen = Self.choose(from: files.directory, for: environments, now: now())
        var after = before
        for (name, entry) in chosen.sorted(by: { $0.key < $1.key }) {
            files.vanished.remove(name)
            guard let trust = files.trusts[name.environment] else { continue }
            if let known = before[name], known.entry.content == entry.content, known.trust == trust { continue }
            do throws(CertificateDirectoryError) {
                after[name] = try Self.hold(entry, trust: trust, edition: (before[name]?.edition ?? 0) + 1)
                if before[name] == nil { change.added.append(name) } else { change.replaced.append(name) }
            } catch {
                if !faults.contains(error) { faults.append(error) }
            }
        }
        change.vanished = before.keys.filter { chosen[$0] == nil && files.vanished.insert($0).inserted }.sorted()
        guard !change.added.isEmpty || !change.replaced.isEmpty else { return }
        held.withLock { $0 = after }
        changes.add(1, ordering: .releasing)
    }

    /// For each bundle of each environment the best certificates at this time.
    private static func choose(
        from directory: CertificateDirectory,
        for environments: [EnvironmentSettings],
        now: Int64
    ) -> [Name: CertificateDirectory.Entry] {
        var chosen: [Name: CertificateDirectory.Entry] = [:]
        for (environment, isVoIP) in environments.flatMap({ [($0, false), ($0, true)] }) {
            for bundleID in directory.bundleIDs(in: environment, isVoIP: isVoIP) {
                let name = Name(environment: environment.name, bundleID: bundleID, isVoIP: isVoIP)
                chosen[name] =
                    directory.entry(bundleID: bundleID, isVoIP: isVoIP, environment: environment, now: now)
            }
        }
        return chosen
    }

    /// Reads the terms of an environment's gateways.
    private static func trust(of environment: EnvironmentSettings) throws(CertificateDirectoryError) -> GatewayTrust {
        try GatewayTrust(environment, protocols: environment.transport == .http2 ? ["h2"] : [])
    }

    private static func anonymous(
        in environment: EnvironmentSettings,
        _ trust: GatewayTrust,
        edition: UInt64 = 1
    ) throws(CertificateDirectoryError) -> Anonymous {
        do throws(TLSConfigurationError) {
            return Anonymous(trust: trust, context: try trust.context(of: nil), edition: edition)
        } catch {
            throw CertificateDirectoryError(error, of: environment.trustFile ?? "trust")
        }
    }

    private static func hold(
        _ entry: CertificateDirectory.Entry,
        trust: GatewayTrust,
        edition: UInt64 = 1
    ) throws(CertificateDirectoryError) -> Held {
        do throws(TLSConfigurationError) {
            let context = try trust.context(of: entry.identity)
            let certificate = entry.identity.certificate
            let reach = ProviderCredential.certificate(
                subject: certificate.topic ?? "",
                topics: certificate.topics
            )
            return Held(entry: entry, trust: trust, context: context, reach: reach, edition: edition)
        } catch {
            throw CertificateDirectoryError(error, of: entry.file)
        }
    }
}
