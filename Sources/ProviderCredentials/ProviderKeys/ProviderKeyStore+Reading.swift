import APNsProtocol
import BelfrySupport
import Logging

extension ProviderKeyStore {
    /// Runs `body` and meanwhile reads the keys again, when a file has changed and at intervals, on a thread for
    /// blocking work.
    package func readingAgain(
        every interval: Duration = CertificateStore.readingInterval,
        logger: Logger,
        while body: () async throws -> Void
    ) async rethrows {
        guard let path else { return try await body() }
        try await watching(
            readingEvery: interval,
            { FileLook(directory: path) },
            { logger.report(self.reload()) },
            while: body
        )
    }
}

extension Logger {
    /// Says what a reading of the provider keys changed; nothing if it changed nothing.
    func report(_ change: ProviderKeyStore.Change) {
        for fault in change.newFaults { report(fault) }
        report(exposedKeys: change.newExposed)
        guard !change.added.isEmpty || !change.replaced.isEmpty || !change.vanished.isEmpty else { return }
        let metadata: Logger.Metadata = [
            "added": "\(change.added.text)", "replaced": "\(change.replaced.text)",
            "vanished": "\(change.vanished.text)",
        ]
        log(level: change.vanished.isEmpty ? .notice : .warning, "provider keys read again", metadata: metadata)
    }

    /// Says that the file of a provider key cannot be used.
    package func report(_ fault: ProviderKeyError) {
        error("provider key file not usable", metadata: ["file": "\(fault.file)", "reason": "\(fault.reason)"])
    }

    /// Says which provider keys all users of the machine can read; nothing if there is none.
    package func report(exposedKeys files: [String]) {
        guard !files.isEmpty else { return }
        warning("provider keys can be read by everybody", metadata: ["files": "\(files.joined(separator: ","))"])
    }
}

extension [ProviderKeyID] {
    /// As `team/key`, comma-separated.
    package var text: String { map { "\($0.team)/\($0.key)" }.joined(separator: ",") }
}
