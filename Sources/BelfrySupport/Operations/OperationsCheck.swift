import Logging
import TLSTransport

/// The files of the operations port, and what the settings leave open, judged without opening it.
package struct OperationsCheck: Sendable {
    /// Days before its end from which on a certificate is worth a word.
    private static let noticeDays: Int64 = 30

    /// Each file that cannot be used.
    package private(set) var faults: [OperationsFileError] = []
    /// Good to know: the configuration's key, and the remark.
    package private(set) var notes: [(key: String, text: String)] = []

    /// Reads the files. Blocks.
    ///
    /// - Parameter now: UNIX seconds.
    package init(_ settings: OperationsSettings, now: Int64) {
        for key in settings.missingProtection {
            notes.append((key, "\(key) is not set, and others than this machine reach operations.listen"))
        }
        var files = OperationsSettings()
        files.bearerTokenFile = settings.bearerTokenFile
        judge(files)
        files = OperationsSettings()
        files.certificateFile = settings.certificateFile
        judge(files)
        if let file = settings.certificateFile, let days = Self.daysLeft(file, now: now), days <= Self.noticeDays {
            notes.append((OperationsSettings.certificateKey, "\(file): ends in \(counted(days, "day"))"))
        }
        for (key, file) in settings.exposedSecrets {
            notes.append((key, "\(file): everybody on this machine can read it"))
        }
    }

    /// - Parameter settings: name one file, or none.
    private mutating func judge(_ settings: OperationsSettings) {
        do throws(OperationsFileError) {
            _ = try OperationsAccess(settings, logger: Logger(label: "belfry.check") { _ in SwiftLogNoOpLogHandler() })
        } catch {
            faults.append(error)
        }
    }

    private static func daysLeft(_ file: String, now: Int64) -> Int64? {
        do throws(TLSConfigurationError) {
            return (try TLSIdentity(pemFile: file).certificate.notAfter - now) / 86_400
        } catch {
            return nil
        }
    }
}
