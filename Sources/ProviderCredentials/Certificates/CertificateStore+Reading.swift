import BelfrySupport
import Logging

extension CertificateStore {
    /// The time after which a directory is read again that seems unchanged.
    static let readingInterval = Duration.seconds(30)

    /// Runs `body` and meanwhile reads the certificates again, with roots and revocation lists, when a file has changed
    /// and at intervals, on a thread for blocking work.
    package func readingAgain(
        every interval: Duration = readingInterval,
        logger: Logger,
        while body: () async throws -> Void
    ) async rethrows {
        try await watching(
            readingEvery: interval,
            { FileLook(directory: self.path, files: self.trustFiles) },
            { logger.report(self.reload()) },
            while: body
        )
    }
}

extension Logger {
    /// Says what a reading of the certificates changed; nothing if it changed nothing.
    func report(_ change: CertificateStore.Change) {
        for fault in change.newFaults { report(fault) }
        report(unused: change.newUnused)
        report(exposedCertificates: change.newExposed)
        guard !change.added.isEmpty || !change.replaced.isEmpty || !change.vanished.isEmpty else { return }
        let metadata: Logger.Metadata = [
            "added": "\(Self.list(change.added))", "replaced": "\(Self.list(change.replaced))",
            "vanished": "\(Self.list(change.vanished))",
        ]
        // Bundles whose file is gone go on with the certificate they had, until the process ends.
        log(level: change.vanished.isEmpty ? .notice : .warning, "certificates read again", metadata: metadata)
    }

    /// Says that a file of the certificates' directory cannot be used.
    package func report(_ fault: CertificateDirectoryError) {
        error("certificate file not usable", metadata: ["file": "\(fault.file)", "reason": "\(fault.reason)"])
    }

    /// Says which files are passed over although a certificate could come from them; nothing if there is none.
    package func report(unused: [CertificateDirectory.PassedOver]) {
        guard !unused.isEmpty else { return }
        let files = unused.map(\.file).joined(separator: ",")
        let level: Logger.Level = unused.contains { $0.kind == .missed } ? .warning : .notice
        log(level: level, "certificate files not used", metadata: ["files": "\(files)"])
    }

    /// Says which keys of certificates all users of the machine can read; nothing if there is none.
    package func report(exposedCertificates files: [String]) {
        guard !files.isEmpty else { return }
        warning("keys of certificates can be read by everybody", metadata: ["files": "\(files.joined(separator: ","))"])
    }

    private static func list(_ names: [CertificateStore.Name]) -> String {
        names.map(\.description).joined(separator: ",")
    }
}
