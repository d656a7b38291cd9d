import BelfrySupport

/// An entry of `--scrape`: one process, or a name whose every address is a process.
public enum ScrapeTarget: Hashable, Sendable, CustomStringConvertible {
    case process(HostPort)
    /// Resolved anew regularly: workers come and go.
    case name(HostPort)

    /// Parses `host:port` or `dns:name:port`. Nil: neither.
    public init?(_ text: String) {
        let prefix = "dns:"
        if text.hasPrefix(prefix) {
            guard let place = HostPort(String(text.dropFirst(prefix.count))) else { return nil }
            self = .name(place)
        } else {
            guard let place = HostPort(text) else { return nil }
            self = .process(place)
        }
    }

    public var description: String {
        switch self {
        case .process(let place): "\(place)"
        case .name(let place): "dns:\(place)"
        }
    }

    /// Parses entries separated by commas; each counts once.
    ///
    /// - Returns: at least one and at most ``ConsoleLimits/targets``.
    public static func list(parsing text: String) throws(ConsoleSetupError) -> [ScrapeTarget] {
        var targets: [ScrapeTarget] = []
        for entry in text.split(separator: ",").map({ $0.trimming(" ") }) where !entry.isEmpty {
            guard let target = ScrapeTarget(entry) else {
                throw ConsoleSetupError("scrape: \"\(entry)\" is neither host:port nor dns:name:port")
            }
            if !targets.contains(target) { targets.append(target) }
        }
        guard !targets.isEmpty else { throw ConsoleSetupError("scrape: at least one host:port is expected") }
        guard targets.count <= ConsoleLimits.targets else {
            throw ConsoleSetupError("scrape: \(targets.count) entries, at most \(ConsoleLimits.targets) are possible")
        }
        return targets
    }
}

extension Substring {
    fileprivate func trimming(_ character: Character) -> String {
        String(drop { $0 == character }.reversed().drop { $0 == character }.reversed())
    }
}
