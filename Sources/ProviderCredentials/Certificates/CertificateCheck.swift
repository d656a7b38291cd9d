import BelfrySupport
import TLSTransport

/// The report of `belfry certificates check`: a finding for each file of a directory, sorted by name. Pure.
public struct CertificateCheck: Equatable, Sendable {
    /// The judgement of one file.
    public enum Verdict: Equatable, Sendable {
        case usable
        /// No role needs it, or another file stands in for it, and why. No fault.
        case passedOver(String)
        /// An operator has to act, and why.
        case notUsable(String)
    }

    /// The properties of a push certificate with its key.
    public struct Certificate: Equatable, Sendable {
        /// The app's bundle ID.
        public let topic: String
        /// It sends VoIP pushes of the app alone.
        public let isVoIP: Bool
        public let environments: [String]
        public let chain: CertificateChain
        /// UNIX seconds.
        public let notAfter: Int64
        /// Whole days until it expires; negative once it has.
        public let daysLeft: Int64
    }

    public struct Finding: Equatable, Sendable {
        public let file: String
        public let verdict: Verdict
        /// Nil for anything else than a push certificate with its key.
        public let certificate: Certificate?
    }

    public let directory: String
    public let findings: [Finding]

    /// - Parameter now: UNIX seconds.
    public init(_ directory: CertificateDirectory, now: Int64) {
        self.directory = directory.path
        let findings =
            directory.entries.map { Finding($0, now: now) }
            + directory.faults.map { Finding(file: $0.file, verdict: .notUsable($0.reason), certificate: nil) }
            + directory.passedOver.map { Finding($0) }
        self.findings = findings.sorted { $0.file < $1.file }
    }

    /// Sentences about the files that are not usable, and about the directory if it holds nothing usable; none: all is
    /// well.
    public var complaints: [String] {
        var complaints = findings.compactMap { finding -> String? in
            guard case .notUsable(let reason) = finding.verdict else { return nil }
            return "\(finding.file): \(reason)"
        }
        if !findings.contains(where: { $0.verdict == .usable }) {
            let seen = counted(findings.count, "file")
            complaints.append("\(directory): holds no push certificate that can be used, in \(seen)")
        }
        return complaints
    }
}

extension CertificateCheck.Finding {
    fileprivate init(_ entry: CertificateDirectory.Entry, now: Int64) {
        let info = entry.identity.certificate
        guard let topic = info.bundleID else {
            self.init(
                file: entry.file,
                verdict: .passedOver(
                    "the certificate \"\(info.commonName)\" names no topic: it has no UID, and no common name that "
                        + "ends in \"Push Services: <bundle ID>\""
                ),
                certificate: nil
            )
            return
        }
        let environments =
            (info.environments.contains(.development) ? ["development"] : [])
            + (info.environments.contains(.production) ? ["production"] : [])
        let certificate = CertificateCheck.Certificate(
            topic: topic,
            isVoIP: info.isVoIP,
            environments: environments,
            chain: entry.identity.chain,
            notAfter: info.notAfter,
            // Rounded down, also below zero: a certificate that expired an hour ago has -1 days left.
            daysLeft: Int64((Double(info.notAfter - now) / 86_400).rounded(.down))
        )
        self.init(file: entry.file, verdict: Self.verdict(info, now: now), certificate: certificate)
    }

    fileprivate init(_ file: CertificateDirectory.PassedOver) {
        let verdict: CertificateCheck.Verdict =
            file.kind == .missed ? .notUsable(file.reason) : .passedOver(file.reason)
        self.init(file: file.file, verdict: verdict, certificate: nil)
    }

    private static func verdict(_ info: CertificateInfo, now: Int64) -> CertificateCheck.Verdict {
        if now < info.notBefore {
            return .notUsable("not valid before \(UTCTimestamp.text(unixSeconds: info.notBefore))")
        }
        if now > info.notAfter {
            return .notUsable("expired at \(UTCTimestamp.text(unixSeconds: info.notAfter))")
        }
        return .usable
    }

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        if let certificate {
            line.append("topic", certificate.topic)
            if certificate.isVoIP { line.append("push_type", "voip") }
            line.append("environments", certificate.environments.joined(separator: ","))
        }
        line.append("file", file)
        if let certificate {
            line.append("chain", certificate.chain.names)
            if let gap = certificate.chain.gapText { line.append("chain_fault", gap) }
            line.append("not_after", UTCTimestamp.text(unixSeconds: certificate.notAfter))
            line.append("days_left", certificate.daysLeft)
        }
        switch verdict {
        case .usable: line.append("usable", true)
        case .passedOver(let reason): line.append("passed_over", reason)
        case .notUsable(let reason):
            line.append("error", reason)
            line.append("usable", false)
        }
        return line.text
    }

    /// One line without its end.
    public var text: String {
        let judgement =
            switch verdict {
            case .usable: "valid"
            case .passedOver(let reason): "passed over, \(reason)"
            case .notUsable(let reason): "NOT USABLE, \(reason)"
            }
        guard let certificate else { return "\(file): \(judgement)" }
        let chain = certificate.chain
        let subject = certificate.isVoIP ? "VoIP pushes of \(certificate.topic)" : certificate.topic
        return "\(file): \(subject) (\(certificate.environments.joined(separator: ", "))), \(judgement), "
            + "\(counted(certificate.daysLeft, "day")) left, chain: \(chain.names.joined(separator: " < "))"
            + (chain.gapText.map { " (\($0))" } ?? "")
    }
}

extension CertificateChain {
    /// The names from the identity's own to the one that a peer has to know.
    fileprivate var names: [String] { subjects + [issuer].compactMap(\.self) }

    /// The fault of a chain that is not whole.
    fileprivate var gapText: String? {
        gap.map { "broken: \"\(subjects[$0])\" was not issued by \"\(subjects[$0 + 1])\", which follows it" }
    }
}
