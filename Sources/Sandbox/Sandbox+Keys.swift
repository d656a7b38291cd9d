import APNsProtocol
import FoundationEssentials
import TLSTransport

extension Sandbox {
    /// The team of a PKI directory's topics and keys unless another one is named.
    public static let defaultTeam = "BELFRYTEAM"

    /// Writes keys for provider tokens, `keys/AuthKey_<key id>.p8`, and the list of all of them with their public
    /// halves, `keys.json`. Keys that exist are kept; their list takes topics that are added. The keys of other teams
    /// than ``defaultTeam`` stand in `keys/<team>/`; copies of those of the default team stand in the directory itself.
    ///
    /// - Parameters:
    ///   - topics: bundle IDs of the team.
    ///   - team: letters and digits, 32 at most.
    ///   - withTopicKeys: besides the team's key also one for each of the topics alone.
    ///   - report: the files are counted in it.
    /// - Throws: ``SandboxSetupError`` naming the file or the option.
    public static func writeProviderKeys(
        directory: String,
        topics: [String],
        team: String = defaultTeam,
        environment: PushEnvironment = .development,
        withTopicKeys: Bool = false,
        report: inout CertificatesReport
    ) throws(SandboxSetupError) {
        let pki = DevelopmentPKI(directory: directory, environments: environment.ofCertificates)
        guard ProviderKeyID(team: team, key: "KEY") != nil else {
            throw SandboxSetupError(subject: "team", problem: "\"\(team)\", letters and digits are expected")
        }
        let isListed = fileExists(pki.keyListFile)
        var list = isListed ? try ProviderKeyList(file: pki.keyListFile) : ProviderKeyList()
        report.count(exists: isListed)
        let folder = team == defaultTeam ? nil : team
        let reaches = [(nil, topics)] + (withTopicKeys ? topics.map { ($0, [$0]) } : []) as [(String?, [String])]
        for (topic, reach) in reaches {
            let id = ProviderKeyList.id(team: team, topic: topic, environment: environment)
            report.count(exists: fileExists(pki.providerKeyFile(id, folder: folder)))
            if folder == nil { report.count(exists: fileExists(pki.providerKeyCopy(id))) }
            do throws(TLSConfigurationError) {
                let key = try pki.completeProviderKey(id, folder: folder)
                list.add(
                    ProviderKeyList.Key(
                        environments: ["\(environment)"],
                        id: id,
                        publicKey: String(decoding: try key.publicKey.pem(), as: UTF8.self),
                        scope: topic == nil ? .team : .topics,
                        team: team,
                        topics: reach
                    )
                )
            } catch {
                throw SandboxSetupError(error)
            }
        }
        try list.write(to: pki.keyListFile)
    }
}
