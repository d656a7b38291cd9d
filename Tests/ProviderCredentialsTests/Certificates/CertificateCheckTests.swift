import Foundation
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import ProviderCredentials

@Suite struct CertificateCheckTests {
    private static let news = "com.example.news"
    private static let now: Int64 = 1_500_000_000
    private static let day: Int64 = 86_400

    private func check(_ files: CertificateFiles) throws -> CertificateCheck {
        CertificateCheck(try CertificateDirectory(path: files.directory), now: Self.now)
    }

    @Test("A push certificate is told with topic, environment, days left and chain")
    func usable() throws {
        let files = try CertificateFiles()
        let validity = (Self.now - 10)...(Self.now + 3 * Self.day + 5)
        try files.client(Self.news, .production, validity: validity).writePEM(to: files.path("push.pem"))
        let check = try check(files)
        let finding = try #require(check.findings.first)
        let chain = ["Apple Production IOS Push Services: \(Self.news)", "Belfry Development CA"]
        #expect(check.findings.count == 1 && check.complaints.isEmpty)
        #expect(finding.verdict == .usable)
        #expect(
            finding.text
                == "\(files.path("push.pem")): \(Self.news) (production), valid, 3 days left, "
                + "chain: \(chain[0]) < \(chain[1])"
        )
        #expect(
            finding.json
                == #"{"topic":"\#(Self.news)","environments":"production","file":"\#(files.path("push.pem"))","#
                + #""chain":["\#(chain[0])","\#(chain[1])"],"#
                + #""not_after":"\#(UTCTimestamp.text(unixSeconds: validity.upperBound))","#
                + #""days_left":3,"usable":true}"#
        )
    }

    @Test("A directory whose only certificate names no topic is no good, and both lines say why")
    func noTopic() throws {
        let files = try CertificateFiles()
        try files.authority.issueServer().writePEM(to: files.path("server.pem"))
        let check = try check(files)
        let finding = try #require(check.findings.first)
        guard case .passedOver(let reason) = finding.verdict else {
            Issue.record("\(finding)")
            return
        }
        #expect(reason.hasPrefix("the certificate \"localhost\" names no topic"))
        #expect(finding.text == "\(files.path("server.pem")): passed over, \(reason)")
        #expect(check.complaints == ["\(files.directory): holds no push certificate that can be used, in 1 file"])
    }

    @Test("An empty directory is no good, and says so")
    func empty() throws {
        let files = try CertificateFiles()
        let complaint = "\(files.directory): holds no push certificate that can be used, in 0 files"
        #expect(try check(files).complaints == [complaint])
    }

    @Test("Each file has its finding, in the order of the names, and what is no certificate is no fault")
    func everyFile() throws {
        let files = try CertificateFiles()
        let validity = (Self.now - 10)...(Self.now + Self.day)
        let identity = try files.client(Self.news, validity: validity)
        try identity.writePEM(to: files.path("n.pem"))
        try identity.writePKCS12(to: files.path("n.p12"), passphrase: "secret")
        try identity.writePKCS12(to: files.path("b.p12"), passphrase: "secret")
        try files.write("secret", to: "b.passphrase")
        try files.write("rubbish", to: "README")
        try files.write(String(decoding: try files.authority.rootPEM(), as: UTF8.self), to: "ca.pem")
        let check = try check(files)
        let names = ["README", "b.p12", "b.passphrase", "ca.pem", "n.p12", "n.pem"]
        #expect(check.findings.map(\.file) == names.map(files.path))
        #expect(check.findings.map { $0.verdict == .usable } == [false, true, false, false, false, true])
        #expect(check.complaints.isEmpty)
        #expect(check.findings[2].text == "\(files.path("b.passphrase")): passed over, the passphrase of b.p12")
        #expect(
            check.findings[4].json
                == #"{"file":"\#(files.path("n.p12"))","#
                + #""passed_over":"its passphrase is missing: n.passphrase; n.pem is used"}"#
        )
    }

    @Test("A certificate that has expired, or is not valid yet, is a fault with its date")
    func validity() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, validity: (Self.now - 100)...(Self.now - 1)).writePEM(to: files.path("old.pem"))
        try files.client(Self.news, validity: (Self.now + 1)...(Self.now + 100)).writePEM(to: files.path("young.pem"))
        let check = try check(files)
        #expect(check.findings.map { $0.certificate?.daysLeft } == [-1, 0])
        #expect(check.complaints.count == 3)
        #expect(check.complaints[0] == "\(files.path("old.pem")): expired at 2017-07-14T02:39:59.000Z")
        #expect(check.complaints[1] == "\(files.path("young.pem")): not valid before 2017-07-14T02:40:01.000Z")
    }

    @Test("One file that is not usable is told beside good ones")
    func notUsable() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, validity: (Self.now - 1)...(Self.now + 1)).writePEM(to: files.path("good.pem"))
        try files.write("rubbish", to: "push.p12")
        try files.write("secret", to: "push.passphrase")
        let check = try check(files)
        #expect(check.complaints == ["\(files.path("push.p12")): is not a PKCS#12 container"])
        #expect(
            check.findings.first { $0.file.hasSuffix("push.p12") }?.text
                == "\(files.path("push.p12")): NOT USABLE, is not a PKCS#12 container"
        )
    }

    @Test("A chain whose certificates did not issue each other is told where it breaks")
    func brokenChain() throws {
        let files = try CertificateFiles()
        let validity = (Self.now - 1)...(Self.now + 1)
        let stranger = try CertificateAuthority(commonName: "Somebody Else")
        for (name, root) in [("a.pem", files.authority), ("b.pem", stranger)] {
            let pem = try files.client(Self.news, validity: validity).pem() + root.rootPEM()
            try files.write(String(decoding: pem, as: UTF8.self), to: name)
        }
        let findings = try check(files).findings
        let own = "Apple Development IOS Push Services: \(Self.news)"
        #expect(findings[0].text.hasSuffix("chain: \(own) < Belfry Development CA"))
        #expect(
            findings[1].text.hasSuffix(
                "chain: \(own) < Somebody Else "
                    + "(broken: \"\(own)\" was not issued by \"Somebody Else\", which follows it)"
            )
        )
    }
}
