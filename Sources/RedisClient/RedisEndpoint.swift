/// Address and login of a Redis server, as written in a URL. `redis://[user:password@]host[:port][/database]`, or
/// `rediss://` for the same over TLS; `redis+sentinel://[user:password@]host[:port]/name[/database]`, or
/// `rediss+sentinel://`, for the master that a sentinel at that address calls so.
///
/// The form is that of the URI schemes `redis` and `rediss` registered with IANA; the others are used by many clients.
/// User and password may be percent-encoded; an IPv6 address stands in brackets.
public struct RedisEndpoint: Sendable, Hashable {
    /// The port of a URL that names none (Redis' registered port).
    public static let defaultPort = 6379
    /// The same for sentinels.
    public static let defaultSentinelPort = 26_379

    /// A name or an IP address, without brackets.
    public var host: String
    /// 1…65535.
    public var port: Int
    /// The URL asks for TLS. The connection itself has no TLS: see ``RedisConnection/Configuration/configureChannel``.
    public var tls: Bool
    /// The user of Redis' access control lists (Redis 6); nil logs in as the default user.
    public var user: String?
    /// The password; nil sends no AUTH at all.
    public var password: String?
    /// The database that SELECT chooses, from 0 on.
    public var database: Int
    /// The master's name among sentinels. Host and port are then those of a sentinel, and user, password and database
    /// are for the master. Nil: host and port are those of the server.
    public var master: String?

    public init(
        host: String,
        port: Int = RedisEndpoint.defaultPort,
        tls: Bool = false,
        user: String? = nil,
        password: String? = nil,
        database: Int = 0,
        master: String? = nil
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.user = user
        self.password = password
        self.database = database
        self.master = master
    }

    /// Reads a URL with one address.
    ///
    /// - Throws: ``RedisEndpointError``, which names the part that is wrong and never repeats the password.
    public init(url: String) throws(RedisEndpointError) {
        let endpoints = try Self.endpoints(url: url)
        guard endpoints.count == 1 else { throw RedisEndpointError(part: .host, message: "one address, not a list") }
        self = endpoints[0]
    }

    /// Reads a URL: of one server, or of one sentinel or several with commas between them.
    static func endpoints(url: String) throws(RedisEndpointError) -> [RedisEndpoint] {
        let (scheme, rest) = try split(url)
        var remainder = rest[...]
        var user: String?
        var password: String?
        // Credentials first, so that a possible password never ends up in a message about another part.
        if let at = remainder.lastIndex(of: "@") {
            (user, password) = try parseCredentials(remainder[..<at])
            remainder = remainder[remainder.index(after: at)...]
        }
        var path = Substring()
        if let slash = remainder.firstIndex(of: "/") {
            path = remainder[remainder.index(after: slash)...]
            remainder = remainder[..<slash]
        }
        let isOfSentinels = scheme.hasSuffix(sentinelSuffix)
        let master = isOfSentinels ? try takeMaster(from: &path) : nil
        let database = try parseDatabase(path)
        let addresses = isOfSentinels ? remainder.split(separator: ",", omittingEmptySubsequences: false) : [remainder]
        return try addresses.map { text throws(RedisEndpointError) in
            let standard = isOfSentinels ? defaultSentinelPort : defaultPort
            let (host, port) = try parseAddress(trimming(text)[...], defaultPort: standard)
            return RedisEndpoint(
                host: host,
                port: port,
                tls: scheme.hasPrefix("rediss"),
                user: user,
                password: password,
                database: database,
                master: master
            )
        }
    }

    /// `host:port`, with brackets around an IPv6 address: the server's name in messages.
    public var address: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

extension RedisEndpoint: CustomStringConvertible {
    /// The URL with the password blanked out, fit for a log.
    public var description: String {
        let credentials = password == nil ? "" : "\(user ?? ""):***@"
        let scheme = (tls ? "rediss" : "redis") + (master == nil ? "" : Self.sentinelSuffix)
        return "\(scheme)://\(credentials)\(address)/\(master.map { $0 + "/" } ?? "")\(database)"
    }
}

/// A fault in a Redis URL.
public struct RedisEndpointError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The part that is wrong.
    public enum Part: String, Sendable {
        case scheme
        case credentials
        case host
        case port
        /// That of the master, among sentinels.
        case name
        case database
        case query
    }

    public let part: Part
    /// A sentence with the finding and the allowed values. It never contains the password.
    public let message: String

    public var description: String { "Redis URL: \(part.rawValue): \(message)" }
}

extension RedisEndpoint {
    private static let sentinelSuffix = "+sentinel"
    private static let schemes = ["redis", "rediss", "redis" + sentinelSuffix, "rediss" + sentinelSuffix]

    private static func split(_ url: String) throws(RedisEndpointError) -> (scheme: String, rest: Substring) {
        var rest = url[...]
        for scheme in schemes where rest.lowercased().hasPrefix(scheme + "://") {
            rest = rest.dropFirst(scheme.count + 3)
            if let mark = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) {
                throw RedisEndpointError(
                    part: .query,
                    message: "\"\(rest[mark])…\" is not supported; a \"?\" or \"#\" of a password is written %3F or %23"
                )
            }
            return (scheme, rest)
        }
        let allowed = schemes.map { $0 + "://" }.joined(separator: ", ")
        throw RedisEndpointError(part: .scheme, message: "must be one of \(allowed)")
    }

    /// Takes the first part of what stands behind the addresses: a name as in Redis' `sentinel.conf`, "sentinel
    /// monitor".
    private static func takeMaster(from path: inout Substring) throws(RedisEndpointError) -> String {
        let name = path.prefix { $0 != "/" }
        path = path.dropFirst(name.count + 1)
        guard !name.isEmpty, name.utf8.allSatisfy(isHostByte) else {
            throw RedisEndpointError(
                part: .name,
                message: "behind the addresses of sentinels stands /name, as in their \"sentinel monitor name …\": "
                    + "letters, digits, dots, - and _"
            )
        }
        return String(name)
    }

    private static func parseDatabase(_ text: Substring) throws(RedisEndpointError) -> Int {
        if text.isEmpty { return 0 }
        guard let number = decimal(text) else {
            // Not repeated: in `redis://user:pass/word`, its host forgotten, this is a part of the password.
            throw RedisEndpointError(part: .database, message: "must be a number from 0 on")
        }
        return number
    }

    private static func parseCredentials(
        _ text: Substring
    ) throws(RedisEndpointError) -> (user: String?, password: String) {
        if text.contains("/") {
            throw RedisEndpointError(part: .credentials, message: "a \"/\" in them is written %2F")
        }
        guard let colon = text.firstIndex(of: ":") else {
            // Clients disagree whether a single word is the user or the password.
            throw RedisEndpointError(
                part: .credentials,
                message: "must be user:password@, or :password@ for the default user"
            )
        }
        guard
            let user = percentDecoded(text[..<colon]),
            let password = percentDecoded(text[text.index(after: colon)...])
        else {
            throw RedisEndpointError(
                part: .credentials,
                message: "contain a % that is not followed by two hex digits, or bytes that are not UTF-8"
            )
        }
        if password.isEmpty {
            throw RedisEndpointError(part: .credentials, message: "have an empty password")
        }
        return (user.isEmpty ? nil : user, password)
    }

    private static func parseAddress(
        _ text: Substring,
        defaultPort: Int
    ) throws(RedisEndpointError) -> (host: String, port: Int) {
        if text.contains(",") {
            throw RedisEndpointError(part: .host, message: "one address, not a list")
        }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw RedisEndpointError(part: .host, message: "has no closing bracket")
            }
            let host = text[text.index(after: text.startIndex)..<end]
            guard host.contains(":"), host.utf8.allSatisfy({ isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }) else {
                throw RedisEndpointError(part: .host, message: "has no IPv6 address between its brackets")
            }
            return (String(host), try parsePort(text[text.index(after: end)...], defaultPort))
        }
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        let host = text[..<colon]
        guard !host.isEmpty else { throw RedisEndpointError(part: .host, message: "is missing") }
        guard host.utf8.allSatisfy(isHostByte) else {
            throw RedisEndpointError(part: .host, message: "holds a character that is no part of a host name")
        }
        return (String(host), try parsePort(text[colon...], defaultPort))
    }

    /// `text` is empty, or begins with the colon.
    private static func parsePort(_ text: Substring, _ defaultPort: Int) throws(RedisEndpointError) -> Int {
        if text.isEmpty { return defaultPort }
        guard text.hasPrefix(":"), let port = decimal(text.dropFirst()), (1...65535).contains(port) else {
            // Not repeated: in `redis://user:password`, its host forgotten, this is the password.
            throw RedisEndpointError(part: .port, message: "must be a colon and a number from 1 to 65535")
        }
        return port
    }

    /// Digits only: `Int.init` would also take a sign.
    private static func decimal(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        hexValue(byte) != nil
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    private static func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var input = text.utf8.makeIterator()
        while let byte = input.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard
                let high = input.next().flatMap(hexValue),
                let low = input.next().flatMap(hexValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
