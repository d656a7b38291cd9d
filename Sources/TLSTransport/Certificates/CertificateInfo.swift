/// The properties that the push service and its providers read from a certificate.
public struct CertificateInfo: Sendable, Equatable {
    /// The environments a certificate is good for [10].
    public struct Environments: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The sandbox of the push service: extension 1.2.840.113635.100.6.3.1 [field].
        public static let development = Environments(rawValue: 1)
        /// Extension 1.2.840.113635.100.6.3.2 [field].
        public static let production = Environments(rawValue: 2)
    }

    /// The topic of the certificate: the subject's UID attribute [field], else the text after "Push Services: " in the
    /// common name. It is the bundle ID, and for VoIP Services ends in `.voip`. `nil` for other certificates, of a
    /// server for example.
    public var topic: String?
    /// All topics that the extensions …6.3.6 and …6.3.4 list [later]. Without any ``topic`` alone, or none; so for VoIP
    /// Services, even if they list others.
    public var topics: [String]
    /// The environments named by the extensions; without any, by the common name; else both [ours].
    public var environments: Environments
    /// The subject's common name; empty if it has none.
    public var commonName: String
    /// The serial number, upper-case hex without leading zeros (a digit at least), as `openssl x509 -serial`
    /// shows it up to those zeros.
    public var serialHex: String
    /// First and last second of validity, UNIX seconds UTC.
    public var notBefore: Int64
    public var notAfter: Int64
    /// The virtual device of the certificate [ours]; `nil` for all others.
    public var device: UInt32?

    /// A certificate of VoIP Services, which sends pushes of that type alone [field]. Its common name says so: an app's
    /// own bundle ID may end in `.voip`, too.
    public var isVoIP: Bool { Self.isVoIP(commonName: commonName) }

    /// The app of the certificate: its ``topic``, for VoIP Services without the suffix.
    public var bundleID: String? {
        topic.map { isVoIP && $0.hasSuffix(Self.voipSuffix) ? String($0.dropLast(Self.voipSuffix.count)) : $0 }
    }

    /// The beginning of the common name of a certificate of VoIP Services [field].
    private static let voipName = "VoIP Services: "
    private static let voipSuffix = ".voip"

    /// The common name is that of a certificate of VoIP Services.
    static func isVoIP(commonName: String) -> Bool { commonName.hasPrefix(voipName) }

    /// The topic of a subject; nil: it names none.
    ///
    /// - Parameter userID: the attribute UID; nil: it has none.
    static func topic(userID: String?, commonName: String) -> String? {
        guard isVoIP(commonName: commonName) else { return userID ?? topic(inCommonName: commonName) }
        let name = userID ?? String(commonName.dropFirst(voipName.count))
        return name.isEmpty ? nil : name.hasSuffix(voipSuffix) ? name : name + voipSuffix
    }

    /// The certificate is valid at a time (UNIX seconds UTC). Both ends are included (RFC 5280 §4.1.2.5).
    public func isValid(at seconds: Int64) -> Bool {
        notBefore <= seconds && seconds <= notAfter
    }
}

extension CertificateInfo {
    /// The bundle ID in a common name such as "Apple Development IOS Push Services: com.example.news".
    static func topic(inCommonName name: String) -> String? {
        let marker = "Push Services: "
        // Searched over UTF-8 by hand: the standard library alone has no substring search.
        let haystack = Array(name.utf8)
        let needle = Array(marker.utf8)
        guard haystack.count > needle.count else { return nil }
        for start in 0..<(haystack.count - needle.count)
        where haystack[start..<(start + needle.count)].elementsEqual(needle) {
            return String(decoding: haystack[(start + needle.count)...], as: UTF8.self)
        }
        return nil
    }

    /// The environment named in a common name, for a certificate without the extensions.
    static func environments(inCommonName name: String) -> Environments {
        if name.hasPrefix("Apple Development ") { return .development }
        if name.hasPrefix("Apple Production ") { return .production }
        return [.development, .production]
    }

    /// The topics of extension 1.2.840.113635.100.6.3.6 or …6.3.4. It is a DER sequence in which each topic
    /// (UTF8String) is followed by a sequence that names its kind [field]. Anything of another form ends the list.
    static func topics(inExtension der: [UInt8]) -> [String] {
        var outer = DERReader(der[...])
        guard let sequence = outer.next(), sequence.tag == DERReader.sequence else { return [] }
        var items = DERReader(sequence.content)
        var topics: [String] = []
        while let item = items.next() {
            if item.tag == DERReader.utf8String {
                topics.append(String(decoding: item.content, as: UTF8.self))
            }
        }
        return topics
    }

    /// The value of that extension for these topics, each of the kind "app".
    static func topicsExtension(_ topics: [String]) -> [UInt8] {
        let kind = DERReader.element(DERReader.sequence, DERReader.element(DERReader.utf8String, Array("app".utf8)))
        return DERReader.element(
            DERReader.sequence,
            topics.flatMap { DERReader.element(DERReader.utf8String, Array($0.utf8)) + kind }
        )
    }
}

/// Walks the elements of one DER level (X.690 §8.1); stops at a truncated element or one of indefinite length.
private struct DERReader {
    static let utf8String: UInt8 = 0x0C
    static let sequence: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            // Long form. Extensions here are short: two length bytes (64 KiB) are plenty.
            let lengthBytes = Int(first & 0x7F)
            guard (1...2).contains(lengthBytes), rest.count >= lengthBytes else { return nil }
            count = rest.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(lengthBytes)
        }
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return (tag, rest.prefix(count))
    }
    /// Encodes one element, of at most 64 KiB, the limit of reading.
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        precondition(count <= UInt16.max, "extensions are short")
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            }
        return [tag] + length + content
    }
}
