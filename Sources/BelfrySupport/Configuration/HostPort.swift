/// A host and a TCP port.
public struct HostPort: Sendable, Hashable, CustomStringConvertible {
    /// A name, or an address without brackets.
    public let host: String

    /// 1...65535; 0 where a server may pick a free one.
    public let port: Int

    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`, `[::1]:port`, and without a port when there is a default. Nil: neither.
    ///
    /// - Parameters:
    ///   - defaultPort: for a text without port; nil: the port is required.
    ///   - allowsPortZero: whether 0 is a port, as it is where one listens.
    public init?(_ text: String, defaultPort: Int? = nil, allowsPortZero: Bool = false) {
        let host: Substring
        let port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard host.contains(":"), rest.isEmpty || rest.hasPrefix(":") else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = parts[0]
            port = parts.count == 2 ? parts[1] : nil
        }
        guard !host.isEmpty, host.utf8.allSatisfy(Self.isHostCharacter) else { return nil }
        self.host = String(host)
        if let port {
            guard port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = Int(port), (allowsPortZero ? 0 : 1)...65_535 ~= number
            else { return nil }
            self.port = number
        } else {
            guard let defaultPort else { return nil }
            self.port = defaultPort
        }
    }

    /// `host:port`, with brackets around an IPv6 address.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Anything a name or an address may have; colons and `%` (a scope) only occur inside brackets.
    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "%"):
            true
        default: false
        }
    }
}
