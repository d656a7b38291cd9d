/// The order in which the addresses of a service are tried, and those of them that did not answer lately.
///
/// One attempt to connect tries several addresses, a ``pace`` apart, and the first that answers is used (RFC 8305): an
/// address that is dead delays it and does not fail it. Families take turns within an attempt, and addresses of a
/// family from one attempt to the next, so that connections are spread. Addresses that were tried in vain are *set
/// back*: they come last for a while. Pure: time is an argument.
public struct AddressOrder<Address: Hashable & Sendable>: Sendable {
    /// The next address is tried after this time, or at once when all that were tried have failed (RFC 8305 §8).
    public static var pace: Duration { .milliseconds(250) }
    /// An address is set back for this time. One that stays dead delays one connection in that time, by a ``pace``.
    /// [ours]
    public static var setBackTime: Duration { .seconds(60) }
    /// Addresses that one attempt tries at most, which bounds its sockets. The next attempt begins with the others.
    /// [ours]
    public static var mostTried: Int { 16 }

    /// The end of the time for which an address is set back.
    private var ends: [Address: MonotonicTime] = [:]

    public init() {}

    /// Makes the order of one attempt.
    ///
    /// - Parameters:
    ///   - found: all addresses of the service, each once, as they were found: the family of the first one is tried
    ///     first.
    ///   - turn: rises from one attempt to the next; 0 or more.
    ///   - family: of an address.
    public func order<Family: Equatable>(
        of found: [Address],
        turn: Int,
        now: MonotonicTime,
        family: (Address) -> Family
    ) -> [Address] {
        var families: [Family] = []
        for address in found where !families.contains(family(address)) { families.append(family(address)) }
        let good = found.filter { end(of: $0, now: now) == nil }
        let members = families.map { each in good.filter { family($0) == each } }
        let rows = members.map(\.count).max() ?? 0
        let spread = (0..<rows).flatMap { row in
            members.filter { row < $0.count }.map { $0[(row + turn) % $0.count] }
        }
        // The one that has been set back for longest may have recovered.
        let late = found.enumerated()
            .compactMap { place, address in end(of: address, now: now).map { (end: $0, place: place) } }
            .sorted { ($0.end, $0.place) < ($1.end, $1.place) }
            .map { found[$0.place] }
        return Array((spread + late).prefix(Self.mostTried))
    }

    /// An attempt led to an address of its order. Those before it have failed, or have not answered while it did.
    public mutating func connected(to address: Address, of order: [Address], now: MonotonicTime) {
        setBack(order.prefix { $0 != address }, now: now)
        ends[address] = nil
    }

    /// These addresses have failed, and no other was tried. Once all are set back, none is worse than another, and
    /// connections are spread over all of them.
    public mutating func failed(_ tried: some Sequence<Address>, of found: [Address], now: MonotonicTime) {
        setBack(tried, now: now)
        guard found.allSatisfy({ ends[$0] != nil }) else { return }
        for address in found { ends[address] = nil }
    }

    /// An attempt took too long: so many addresses of its order were tried at least.
    public mutating func timedOut(
        _ order: [Address],
        of found: [Address],
        after timeout: Duration,
        now: MonotonicTime
    ) {
        failed(order.prefix(1 + Int(timeout / Self.pace)), of: found, now: now)
    }

    private mutating func setBack(_ addresses: some Sequence<Address>, now: MonotonicTime) {
        ends = ends.filter { now < $0.value }
        for address in addresses { ends[address] = now + Self.setBackTime }
    }

    private func end(of address: Address, now: MonotonicTime) -> MonotonicTime? {
        ends[address].flatMap { now < $0 ? $0 : nil }
    }
}
