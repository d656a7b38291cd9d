/// The number of a stream in its connection: odd for those that the client opens, and growing (RFC 9113 §5.1.1).
public struct HTTP2StreamID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 1…2³¹ − 1; 0 stands for the connection.
    public let rawValue: Int32

    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: HTTP2StreamID, right: HTTP2StreamID) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String { "\(rawValue)" }
}
