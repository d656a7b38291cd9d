/// The metadata of a committed offset: servers with the changes, and a restart offset. The next owner of the partition
/// reads it and begins there if the servers may have lost changes, so that no restart hides a fail-over.
///
/// Written as `1 <offset> <replication ID>,…`; the 1 is the version.
public struct ReplayMark: Equatable, Sendable {
    /// Replication IDs of the masters, shortened, sorted.
    public var servers: [String]
    /// The lowest offset applied within the window before the commit.
    public var start: Int64

    /// Kept digits of a replication ID (of 40): 300 masters fit into the 4 KiB of metadata that a broker takes.
    public static let digits = 12

    public init(servers: some Sequence<String>, start: Int64) {
        self.servers = Set(servers.map { String($0.prefix(Self.digits)) }).sorted()
        self.start = start
    }

    /// Nil: the text is not a replay mark.
    public init?(_ metadata: String) {
        let words = metadata.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == "1", let start = Int64(words[1]), start >= 0, !words[2].isEmpty else {
            return nil
        }
        self.init(servers: words[2].split(separator: ",").map(String.init), start: start)
    }

    public var metadata: String {
        "1 \(start) \(servers.joined(separator: ","))"
    }
}
