import BelfrySupport
import Foundation
import KafkaClient
import ProviderCredentials
import PushTopics
import TokenState

/// Carries out `belfry config check`: looks at all of a configuration, and at the files that it names.
public enum ConfigurationCheck {
    /// The findings about values and files. Asks no server. Blocks.
    ///
    /// - Parameter now: UNIX seconds.
    public static func findings(
        of inspection: ConfigurationInspection,
        now: Int64 = Int64(Date().timeIntervalSince1970)
    ) -> [ConfigurationFinding] {
        let configuration = inspection.configuration
        var findings = inspection.problems.map { ConfigurationFinding($0) }
        // A file is judged where the value that names it could be read.
        if !inspection.hasProblem(in: ["redis"]), let fault = redisFault(configuration.redis) {
            findings.append(fault)
        }
        if !inspection.hasProblem(in: ["kafka"]) {
            if let fault = kafkaFault(configuration.kafka) { findings.append(fault) }
            if !configuration.kafka.prefix.isEmpty { findings.append(prefixNote(configuration)) }
        }
        findings += CredentialCheck(configuration, now: now).findings
            .filter { !inspection.hasProblem(in: [$0.key]) }
            .map { finding in
                finding.isFault
                    ? ConfigurationFinding(fault: finding.text, of: finding.key, cure: cure(of: finding.key))
                    : ConfigurationFinding(note: finding.text, of: finding.key)
            }
        if !inspection.hasProblem(in: ["operations"]) { findings += operationsFindings(configuration.operations, now) }
        if !configuration.unusedVariables.isEmpty {
            let names = configuration.unusedVariables.joined(separator: ", ")
            findings.append(ConfigurationFinding(note: "environment variables that name no key: \(names)", of: ""))
        }
        if complaint(about: findings) == nil {
            findings.append(ConfigurationFinding(good: "values and files are without fault", of: ""))
        }
        return findings
    }

    /// The faults of a configuration that could not be read at all.
    public static func findings(of error: ConfigurationError) -> [ConfigurationFinding] {
        error.problems.map { ConfigurationFinding($0) }
    }

    /// The line that ends a check with faults; nil without.
    public static func complaint(about findings: [ConfigurationFinding]) -> String? {
        let faults = findings.count { $0.verdict == .fault }
        return faults == 0 ? nil : "the configuration has \(counted(faults, "fault"))"
    }

    private static func cure(of key: String) -> String {
        switch key.split(separator: ".").last {
        case "trust": "put a readable PEM file with the roots there, or name another"
        case "gateway-crl": "put a readable PEM file with the authority's list there, or leave the key out"
        case "directory": "mend, replace or remove the file; it must be readable by the role's user"
        case "key", "team": "put AuthKey_<key ID>.p8 there, or name another"
        default: "put a certificate with its key there, or set keys.directory beside transport: http2"
        }
    }

    private static func operationsFindings(_ settings: OperationsSettings, _ now: Int64) -> [ConfigurationFinding] {
        let check = OperationsCheck(settings, now: now)
        let faults = check.faults.map { fault in
            let content = fault.key.hasSuffix("certificate") ? "a PEM file with certificate and key" : "a token"
            return ConfigurationFinding(
                fault: "\(fault.file): \(fault.reason)",
                of: fault.key,
                cure: "put \(content) there, readable by the role's user, or leave the key out"
            )
        }
        return faults + check.notes.map { ConfigurationFinding(note: $0.text, of: $0.key) }
    }

    private static func redisFault(_ settings: RedisSettings) -> ConfigurationFinding? {
        do {
            _ = try settings.servers(name: "belfry-config")
            return nil
        } catch {
            let file = (error as? CertificateDirectoryError)?.file
            let name =
                switch file {
                case settings.tls.certificateFile?: "certificate"
                case settings.tls.keyFile?: "key"
                default: "trust"
                }
            return ConfigurationFinding(
                fault: "\(error)",
                of: "redis.tls.\(name)",
                cure: "put a readable PEM file there, or name another"
            )
        }
    }

    /// The names that the prefix leads to.
    private static func prefixNote(_ configuration: BelfryConfiguration) -> ConfigurationFinding {
        let names = TopicNames(configuration.kafka)
        let topics = TopicLayout(partitions: 1, names: names).topics.map(\.name).joined(separator: ", ")
        let groups = GroupNames(configuration).all.joined(separator: ", ")
        return ConfigurationFinding(note: "the Kafka topics \(topics); the groups \(groups)", of: "kafka.prefix")
    }

    /// A property that librdkafka refuses: one that it does not know, or a file that it cannot use.
    private static func kafkaFault(_ settings: KafkaSettings) -> ConfigurationFinding? {
        var properties = settings.adminProperties(clientID: "belfry-config")
        // Without brokers the client does not connect.
        properties["bootstrap.servers"] = nil
        do throws(KafkaError) {
            try KafkaAdmin(properties: properties).close()
            return nil
        } catch {
            return ConfigurationFinding(
                fault: "\(error)",
                of: "kafka.properties",
                cure: "change the property, or leave it out"
            )
        }
    }
}
