/// The address of a server.
public struct RedisAddress: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// A name or an IP address, without brackets.
    public var host: String
    /// 1…65535.
    public var port: Int

    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port` as written in redirections. An IPv6 address has no brackets there, so the last colon counts.
    /// No host (or `?`) stands for the host of the node asked. Nil: the text is no such address.
    init?(_ text: Substring, asked: RedisAddress) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        let host = text[..<colon]
        self.init(host: host.isEmpty || host == "?" ? asked.host : String(host), port: port)
    }

    /// `host:port`, with brackets around an IPv6 address.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    public static func < (left: RedisAddress, right: RedisAddress) -> Bool {
        (left.host, left.port) < (right.host, right.port)
    }
}

extension RedisEndpoint {
    var node: RedisAddress { RedisAddress(host: host, port: port) }

    /// The same credentials for another server.
    func at(_ node: RedisAddress) -> RedisEndpoint {
        var endpoint = self
        endpoint.host = node.host
        endpoint.port = node.port
        endpoint.master = nil
        return endpoint
    }
}
