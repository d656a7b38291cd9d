import BelfrySupport
import PipelineCore

/// The processes to scrape: those that were named, and those to which names lead at the moment.
///
/// A name that cannot be resolved keeps the addresses that it had. Pure: the time is an argument.
struct TargetList {
    private struct Name {
        var place: HostPort
        var addresses: [HostPort] = []
        /// In words; nil: the last look-up found something.
        var trouble: String?
        var isAsked = false
        var askAt: MonotonicTime?
    }

    private let fixed: [HostPort]
    private var names: [Name]

    init(_ targets: [ScrapeTarget]) {
        fixed = targets.compactMap { if case .process(let place) = $0 { place } else { nil } }
        names = targets.compactMap { if case .name(let place) = $0 { Name(place: place) } else { nil } }
    }

    /// In the order of the option, each once, at most ``ConsoleLimits/processes``.
    var processes: [HostPort] {
        var seen: Set<HostPort> = []
        let all = fixed + names.flatMap(\.addresses)
        return Array(all.filter { seen.insert($0).inserted }.prefix(ConsoleLimits.processes))
    }

    /// Names that cannot be resolved, with the reasons.
    var troubles: [String] {
        names.compactMap { name in name.trouble.map { "dns:\(name.place): \($0)" } }
    }

    /// The names to resolve now. Each is answered with ``resolved(_:_:now:)`` before it comes again.
    mutating func takeDueNames(now: MonotonicTime) -> [HostPort] {
        var due: [HostPort] = []
        for index in names.indices where !names[index].isAsked {
            if let askAt = names[index].askAt, now < askAt { continue }
            names[index].isAsked = true
            due.append(names[index].place)
        }
        return due
    }

    /// The addresses of a name, or the reason why there are none.
    mutating func resolved(_ name: HostPort, _ result: Result<[HostPort], LookupTrouble>, now: MonotonicTime) {
        guard let index = names.firstIndex(where: { $0.place == name }) else { return }
        names[index].isAsked = false
        names[index].askAt = now + ConsoleLimits.resolveInterval
        switch result {
        case .success(let addresses):
            names[index].trouble = nil
            names[index].addresses = addresses.sorted { "\($0)" < "\($1)" }
        case .failure(let trouble):
            names[index].trouble = trouble.description
        }
    }
}

/// The reason why a name has no addresses, in words.
struct LookupTrouble: Error, Equatable, Sendable, CustomStringConvertible {
    let description: String
}
