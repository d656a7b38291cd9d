import COpenSSL
import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// Certificates of virtual devices: recognised, and never taken for another owner's.
struct DeviceCertificateTests {
    private static let authority = Result { try CertificateAuthority() }

    @Test("A device's certificate says its number and no topic", arguments: [0, 7, UInt32.max])
    func device(number: UInt32) throws {
        let certificate = try Self.authority.get().issueDevice(number).certificate
        #expect(certificate.device == number)
        #expect(certificate.topic == nil)
        #expect(certificate.topics.isEmpty)
    }

    @Test("A provider's and a server's certificate are of no device, whatever they are called")
    func others() throws {
        let authority = try Self.authority.get()
        #expect(try authority.issueClient(bundleID: "device-7").certificate.device == nil)
        #expect(try authority.issueServer(names: ["device-7"]).certificate.device == nil)
    }

    @Test(
        "A number that is not written as it is issued is none",
        arguments: [
            "device-", "device-007", "device-+7", "device--7", "device-4294967296", "device-7 ", "Device-7", "7",
        ]
    )
    func badNames(name: String) {
        #expect(DeviceSubject.device(unit: DeviceSubject.unit, commonName: name) == nil)
        #expect(DeviceSubject.device(unit: nil, commonName: "device-7") == nil)
    }

    @Test("A device's file is made by the authority when it is first asked for, and kept")
    func file() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "pki-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pki = try writeDevelopmentPKI(directory: directory, topics: [])
        let made = try pki.deviceIdentity(7).certificate
        #expect(made.device == 7)
        #expect(try pki.deviceIdentity(7).certificate == made)
        #expect(try TLSIdentity(pemFile: "\(directory)/device-7.pem").certificate == made)
        let attributes = try FileManager.default.attributesOfItem(atPath: pki.deviceFile(7))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let verified = try ForeignProcess.openssl("verify", "-CAfile", pki.authorityFile, pki.deviceFile(7))
        #expect(verified.status == 0)
    }

    @Test("Without the authority's key, or with a damaged file, the file is named")
    func badFile() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "pki-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pki = try writeDevelopmentPKI(directory: directory, topics: [])
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: pki.deviceFile(1)))
        let damaged = #expect(throws: TLSConfigurationError.self) { try pki.deviceIdentity(1) }
        #expect(damaged?.file == pki.deviceFile(1))
        try FileManager.default.removeItem(atPath: pki.authorityKeyFile)
        let keyless = #expect(throws: TLSConfigurationError.self) { try pki.deviceIdentity(2) }
        #expect(keyless?.file == pki.authorityKeyFile)
    }
}
