import RedisClient

// Walking over a server's keys without knowing which bundles it has.

extension TokenKeys {
    /// The environment and bundle in the key of a bucket.
    package struct Parsed: Equatable, Sendable {
        package var environment: String
        package var bundleID: String
        var tag: Int
        var bucket: Int

        /// Nil: the key is not of this layout.
        package init?(bucket key: [UInt8]) {
            let text = String(decoding: key, as: UTF8.self)
            let prefix = "\(TokenLayout.bucketPrefix){"
            guard text.hasPrefix(prefix), let end = text.lastIndex(of: "}") else { return nil }
            let parts = text[..<end].dropFirst(prefix.count).split(separator: ":", omittingEmptySubsequences: false)
            let rest = text[text.index(after: end)...]
            guard parts.count == 3, parts[2].utf8.count == 2, let tag = Int(parts[2], radix: 16),
                rest.hasPrefix(":"), let bucket = Int(rest.dropFirst()), bucket >= 0
            else { return nil }
            environment = String(parts[0])
            bundleID = String(parts[1])
            self.tag = tag
            self.bucket = bucket
        }
    }

    /// Writes the command that asks a server for buckets' keys.
    ///
    /// - Parameters:
    ///   - pattern: of the keys.
    ///   - count: about how many keys, of any kind, the server looks at.
    package static func writeScan(
        from cursor: String,
        _ pattern: String = "\(TokenLayout.bucketPrefix)*",
        count: Int,
        into writer: inout RedisCommandWriter
    ) {
        writer.command("SCAN", argumentCount: 5)
        writer.argument(cursor)
        writer.argument("MATCH")
        writer.argument(pattern)
        writer.argument("COUNT")
        writer.argument(count)
    }

    /// The keys of buckets of all layouts.
    static let anyLayout = "t[0-9]:{*"

    /// Reads the answer to a scan; `next` is "0" at the end.
    package static func readScan(_ reply: RedisReply) -> (next: String, keys: [[UInt8]]) {
        guard reply.count == 2 else { return ("0", []) }
        return (reply[0].string ?? "0", (0..<reply[1].count).map { Array(reply[1][$0].bytes) })
    }
}
