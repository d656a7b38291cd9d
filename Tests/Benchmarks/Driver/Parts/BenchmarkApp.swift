import Foundation
import Sandbox
import TLSTransport

/// The app of most scenarios, and the pipeline's environment.
enum BenchmarkApp {
    static let environment = "sandbox"
    static let bundle = "com.example.bench"

    /// Tokens of the sandbox's first devices, 32 bytes each, end to end.
    ///
    /// - Parameter pki: the sandbox's.
    static func tokens(_ count: Int, pki: URL) throws -> [UInt8] {
        let mint = try mint(pki: pki)
        return (0..<UInt32(count)).flatMap { mint.token(of: AppInstance(device: $0)) }
    }

    /// Makes the tokens that the sandbox of a PKI makes.
    static func mint(pki: URL) throws -> TokenMint {
        let key = try DevelopmentPKI(directory: pki.path).tokenKey()
        return TokenMint(key: key, environment: .development, topic: bundle)
    }
}
