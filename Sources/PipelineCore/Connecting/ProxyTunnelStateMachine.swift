/// The exchange with an HTTP proxy that opens a tunnel: CONNECT, and the answer (RFC 9110 §9.3.6, RFC 9112).
///
///     readingHead ── status 2xx, blank line ──▶ open ── a byte ──▶ failed
///        │  ▲ └── status 1xx: another head follows
///        │  └────────┘
///        └── other status, nonsense, the limit, the end, silence ──▶ failed
///
/// The peer behind the tunnel must wait for our first word, as a server of TLS does. So a byte between the proxy's
/// answer and that word is the proxy's, and a fault. Bytes may come in pieces of any size. Pure.
public struct ProxyTunnelStateMachine: Sendable {
    public enum Action: Equatable, Sendable {
        /// The answer goes on.
        case wait
        /// The next byte that we write goes to the peer behind the proxy. Given once.
        case open
        /// The connection is of no more use. Given once.
        case fail(Failure)
    }

    /// The reason why there is no tunnel.
    public enum Failure: Error, Hashable, Sendable {
        /// Status 407, or 401, which tinyproxy answers to a wrong password [field]. The proxy wants a login by one of
        /// these schemes, in small letters; empty: it named none.
        case loginRefused(status: Int, schemes: [String])
        /// Another status than 2xx, 401 and 407.
        case refused(status: Int)
        /// The answer is not that of an HTTP/1 proxy.
        case notHTTP
        /// The heads of the answer together are longer than ``ProxyTunnelStateMachine/headBytes``.
        case headTooLong
        /// Bytes followed the answer before we had sent any.
        case spokeFirst
        /// The connection ended before the answer did.
        case closed
        /// The answer did not come in time.
        case silent
    }

    private enum State {
        case readingHead
        case open
        case failed
    }

    /// Most bytes of the answer's heads, blank lines included. [ours]
    public static let headBytes = 16 * 1024
    /// Schemes of a login that are kept, and letters of one. [ours]
    private static let mostSchemes = 4
    private static let schemeLetters = 20

    private var state = State.readingHead
    /// The line that is being read, without its end.
    private var line: [UInt8] = []
    /// Of the head that is being read; nil: its first line is.
    private var status: Int?
    private var schemes: [String] = []
    private var bytesRead = 0

    public init() {}

    /// The bytes that ask for a tunnel.
    ///
    /// - Parameters:
    ///   - authority: `host:port` of the peer, with brackets around an IPv6 address.
    ///   - authorization: the value of `Proxy-Authorization`; nil: the proxy asks for none.
    public static func request(to authority: String, authorization: String?) -> String {
        "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n"
            + (authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? "") + "\r\n"
    }

    // MARK: Inputs

    /// Bytes of the proxy came.
    public mutating func received(_ bytes: some Sequence<UInt8>) -> Action {
        let wasOpen = state == .open
        for byte in bytes {
            switch state {
            case .readingHead:
                if let failure = read(byte) { return fail(failure) }
            case .open: return fail(.spokeFirst)
            case .failed: return .wait
            }
        }
        return state == .open && !wasOpen ? .open : .wait
    }

    /// The proxy has ended the connection.
    public mutating func ended() -> Action { fail(.closed) }

    /// The time for the answer is over.
    public mutating func timedOut() -> Action {
        state == .open ? .wait : fail(.silent)
    }

    private mutating func fail(_ failure: Failure) -> Action {
        guard state != .failed else { return .wait }
        state = .failed
        line = []
        return .fail(failure)
    }

    // MARK: The head

    private mutating func read(_ byte: UInt8) -> Failure? {
        bytesRead += 1
        guard bytesRead <= Self.headBytes else { return .headTooLong }
        guard byte == UInt8(ascii: "\n") else {
            line.append(byte)
            return status == nil && !Self.mayBeginStatusLine(line) ? .notHTTP : nil
        }
        defer { line.removeAll(keepingCapacity: true) }
        // A line may end without the first of its two characters (RFC 9112 §2.2).
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let status else {
            self.status = Self.status(of: line)
            return self.status == nil ? .notHTTP : nil
        }
        if line.isEmpty { return endHead(status) }
        if Self.wantsLogin(status) { noteScheme() }
        return nil
    }

    private mutating func endHead(_ status: Int) -> Failure? {
        switch status {
        // Another head follows one that informs; a change of the protocol was not asked for.
        case 100..<200 where status != 101: self.status = nil
        // The length that a head gives counts for nothing here (RFC 9110 §9.3.6).
        case 200..<300: state = .open
        case _ where Self.wantsLogin(status): return .loginRefused(status: status, schemes: schemes)
        default: return .refused(status: status)
        }
        return nil
    }

    private static func wantsLogin(_ status: Int) -> Bool { status == 407 || status == 401 }

    /// Keeps the scheme that a line `Proxy-Authenticate`, or beside status 401 `WWW-Authenticate`, names.
    private mutating func noteScheme() {
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard parts.count == 2, ["proxy-authenticate", "www-authenticate"].contains(Self.lowercased(parts[0])) else {
            return
        }
        let value = parts[1].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let scheme = Self.lowercased(value.prefix { Self.isLetter($0) })
        let isNew = !scheme.isEmpty && scheme.utf8.count <= Self.schemeLetters && !schemes.contains(scheme)
        if isNew, schemes.count < Self.mostSchemes { schemes.append(scheme) }
    }

    private static let beginning = Array("HTTP/1.".utf8)

    private static func mayBeginStatusLine(_ line: [UInt8]) -> Bool {
        // Only the last byte is new.
        line.count > beginning.count || line.last == beginning[line.count - 1]
    }

    /// The status of `HTTP/1.1 200 text`; nil: it is no status line.
    private static func status(of line: [UInt8]) -> Int? {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].count == beginning.count + 1, parts[0].starts(with: beginning),
            isDigit(parts[0][beginning.count]), parts[1].count == 3, parts[1].allSatisfy(isDigit)
        else { return nil }
        let status = parts[1].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return status >= 100 ? status : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// A character of a scheme's name, as far as those in use have them.
    private static func isLetter(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "-") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
