import PageParts

/// The result of writing certificates.
public struct CertificatesReport: Encodable, Equatable, Sendable {
    public let directory: String
    /// Files that were not there before.
    public var written = 0
    /// Files that were there, and stay as they are.
    public var kept = 0

    /// One JSON object on one line, without its end.
    public var json: String { String(decoding: DocumentJSON.encode(self), as: UTF8.self) }

    /// One line for people.
    public var text: String { "\(directory): files written: \(written), kept: \(kept)" }

    init(directory: String) {
        self.directory = directory
    }

    /// Counts a file before it is written, or kept.
    mutating func count(exists: Bool) {
        if exists { kept += 1 } else { written += 1 }
    }
}

/// The certificates that were put on the revocation list, or taken off it.
public struct RevocationReport: Encodable, Equatable, Sendable {
    public let topics: [String]
    public let environment: String
    /// Path of the list.
    public let file: String
    /// False: taken off the list.
    public let revoked: Bool

    /// One JSON object on one line, without its end.
    public var json: String { String(decoding: DocumentJSON.encode(self), as: UTF8.self) }

    /// One line for people.
    public var text: String {
        "\(revoked ? "revoked" : "not revoked any more") for \(environment), by \(file): "
            + topics.joined(separator: ", ")
    }
}
