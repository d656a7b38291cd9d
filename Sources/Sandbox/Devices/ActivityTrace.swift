/// The last things that happened to a topic's devices, for people who watch: a bounded sample of them.
///
/// It costs a comparison per event while it is not watched. While it is, most events cost a decrement: of each
/// kind only every n-th is kept, with n adapted to the rate, so that what is kept per window stays under a quota
/// whatever the rate is. Each kind has a quota of its own, so that one refusal is seen among a million deliveries.
///
/// The distance to the next event that is kept varies around n: a provider walks through its devices in order, and a
/// fixed distance would make that look like stripes.
struct ActivityTrace: Sendable {
    /// An event in the life of a device's app.
    enum Kind: UInt8, Sendable, CaseIterable {
        case delivered = 0
        case stored = 1
        case feedback = 2
        case refused = 3
    }

    /// The events kept since the last time. Devices by ``Kind/rawValue``, in the order of the events.
    typealias Sample = [[UInt32]]

    /// Events kept per window, by ``Kind/rawValue``: 4,096 together.
    static let fullQuotas = [2048, 1024, 512, 512]

    /// Events are kept.
    private(set) var isWatched = false
    private var quotas = [0, 0, 0, 0]

    /// Events of each kind until one is kept; apart from the rest because it is all that most events touch.
    private var countdowns: InlineArray<4, Int> = .init(repeating: 1)
    /// The mean distance between two that are kept.
    private var strides: InlineArray<4, Int> = .init(repeating: 1)
    /// Number of events in this window, up to the last one that was kept.
    private var seen: InlineArray<4, Int> = .init(repeating: 0)
    private var intervals: InlineArray<4, Int> = .init(repeating: 1)
    private var kept: Sample = [[], [], [], []]
    /// Of a xorshift generator: never 0.
    private var noise: UInt32 = 0x9e37_79b9

    /// Keeps events from now on.
    ///
    /// - Parameter share: how many topics share the quotas, so that many topics do not make more to send.
    mutating func watch(share: Int = 1) {
        precondition(share > 0, "quotas shared by \(share)")
        guard !isWatched else { return }
        self = ActivityTrace()
        quotas = Self.fullQuotas.map { max(16, $0 / share) }
        isWatched = true
    }

    /// Forgets everything: it is not watched any more.
    mutating func unwatch() {
        self = ActivityTrace()
    }

    /// Notes an event.
    @inline(__always)
    mutating func noteEvent(_ kind: Kind, device: UInt32) {
        guard isWatched else { return }
        let index = Int(kind.rawValue)
        countdowns[index] -= 1
        guard countdowns[index] == 0 else { return }
        keep(index, device)
    }

    /// Hands out what was kept since the last call, and begins a window: the distances follow the rate of this one.
    mutating func drain() -> Sample {
        let sample = kept
        for index in kept.indices where seen[index] > 0 || strides[index] > 1 {
            kept[index] = []
            // Three quarters, so that a rate that grows a little fits too.
            strides[index] = max(1, seen[index] * 4 / (quotas[index] * 3))
            seen[index] = 0
            // A long wait drawn at a high rate must not hide what happens at a low one.
            if countdowns[index] >= 2 * strides[index] { restart(index) }
        }
        return sample
    }

    @inline(never)
    private mutating func keep(_ index: Int, _ device: UInt32) {
        seen[index] += intervals[index]
        kept[index].append(device)
        if kept[index].count >= quotas[index] {
            // Every second one goes, so that the window stays evenly sampled from its beginning.
            kept[index] = stride(from: 0, to: kept[index].count, by: 2).map { kept[index][$0] }
            strides[index] *= 2
        }
        restart(index)
    }

    /// Draws the distance to the next one: 1...2n-1, n in the mean.
    private mutating func restart(_ index: Int) {
        noise ^= noise << 13
        noise ^= noise >> 17
        noise ^= noise << 5
        intervals[index] = 1 + Int(noise) % (2 * strides[index] - 1)
        countdowns[index] = intervals[index]
    }
}
