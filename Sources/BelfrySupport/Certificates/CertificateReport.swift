import TLSTransport

/// Topic, environments and remaining life of a certificate of the directory.
public struct CertificateReport: Equatable, Sendable {
    public let file: String
    public let topic: String
    public let environments: [String]
    /// UNIX seconds.
    public let notAfter: Int64
    /// Whole days until it expires; negative once it has.
    public let daysLeft: Int64
    /// Not yet, or no longer, valid.
    public let isUsable: Bool

    /// The certificates of a directory that name a topic, by topic.
    ///
    /// - Parameter now: UNIX seconds.
    public static func all(of directory: CertificateDirectory, now: Int64) -> [CertificateReport] {
        directory.entries.compactMap { CertificateReport($0, now: now) }.sorted {
            ($0.topic, $0.file) < ($1.topic, $1.file)
        }
    }

    private init?(_ entry: CertificateDirectory.Entry, now: Int64) {
        let certificate = entry.identity.certificate
        guard let topic = certificate.topic else { return nil }
        file = entry.file
        self.topic = topic
        environments =
            (certificate.environments.contains(.development) ? ["development"] : [])
            + (certificate.environments.contains(.production) ? ["production"] : [])
        notAfter = certificate.notAfter
        // Rounded down, also below zero: a certificate that expired an hour ago has -1 days left.
        daysLeft = Int64((Double(certificate.notAfter - now) / 86_400).rounded(.down))
        isUsable = certificate.isValid(at: now)
    }

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("topic", topic)
        line.append("environments", environments.joined(separator: ","))
        line.append("file", file)
        line.append("not_after", notAfter)
        line.append("days_left", daysLeft)
        line.append("usable", isUsable)
        return line.text
    }

    public var text: String {
        "\(topic) (\(environments.joined(separator: ", "))): \(isUsable ? "valid" : "NOT VALID"), \(daysLeft) days left, \(file)"
    }
}

extension CertificateDirectoryError {
    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("file", file)
        line.append("error", reason)
        line.append("usable", false)
        return line.text
    }

    public var text: String { "\(file): NOT USABLE, \(reason)" }
}
