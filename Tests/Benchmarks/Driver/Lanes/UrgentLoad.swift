import Foundation
import KafkaClient
import Synchronization

/// Publishes urgent notifications at a rate, on a thread of its own: probes, of which the ledger knows each, and
/// records of several tokens beside them.
final class UrgentLoad: Sendable {
    struct Settings: Sendable {
        var brokers: String
        /// The urgent lane's.
        var topic: String
        /// One of each place.
        var keys: [LaneKeys.Key]
        /// A second, of all places together.
        var probes: Int
    }

    private struct State {
        /// Notifications a second; 0: none.
        var rate = 0.0
        /// Notifications.
        var published = 0
        var failure: String?
        var isStopping = false
        var hasStopped = true
    }

    private let state = Mutex(State())
    private let ledger: Mutex<ProbeLedger>

    init(places: Int) {
        ledger = Mutex(ProbeLedger(places: places))
    }

    /// - Parameter rate: notifications a second; no fewer than probes unless 0.
    func demand(_ rate: Double) {
        state.withLock { $0.rate = rate }
    }

    /// Notifications so far.
    var published: Int { state.withLock { $0.published } }

    var failure: String? { state.withLock { $0.failure } }

    var hasStopped: Bool { state.withLock { $0.hasStopped } }

    func withLedger<R: Sendable>(_ body: (inout ProbeLedger) -> R) -> R {
        ledger.withLock { body(&$0) }
    }

    func start(_ settings: Settings) {
        state.withLock { $0.hasStopped = false }
        Thread.detachNewThread { [self] in
            do {
                let publisher = try UrgentPublisher(settings, load: self)
                defer { publisher.close() }
                while true {
                    let (rate, isStopping) = state.withLock { ($0.rate, $0.isStopping) }
                    if isStopping { break }
                    try publisher.turn(rate: rate)
                    let published = publisher.published
                    state.withLock { $0.published = published }
                }
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasStopped = true }
        }
    }

    /// Ends the thread; returns at once.
    func stop() {
        state.withLock { $0.isStopping = true }
    }
}

/// Publishes what is due. Used by one thread.
private final class UrgentPublisher {
    private(set) var published = 0
    private let settings: UrgentLoad.Settings
    private let load: UrgentLoad
    private let producer: KafkaProducer
    private var requests: [NumberedRequest]
    private var probes: [ProbeLedger.Series: [NumberedRequest]]
    /// Numbers of records, of which no two of a device are the same.
    private var number = UrgentPublisher.firstNumber
    private var rate = 0.0
    private var since: Int64 = 0
    /// Since then, probes and other notifications.
    private var probesSent = 0
    private var othersSent = 0
    private var probePlace = 0
    private var place = 0
    private var nextBurst: Int64 = 0
    private var failure: KafkaError?

    /// Records of the same bundle in other streams have lower numbers.
    private static let firstNumber = 500_000_000
    private static let tokensPerRecord = 10
    /// Between two bursts, of which each goes to one partition: many small batches would cost more than they carry.
    private static let burstNanoseconds: Int64 = 5_000_000

    init(_ settings: UrgentLoad.Settings, load: UrgentLoad) throws {
        self.settings = settings
        self.load = load
        requests = try settings.keys.map { key in
            try NumberedRequest(tokens: key.slice(0..<min(UrgentPublisher.tokensPerRecord, key.count)))
        }
        probes = Dictionary(
            uniqueKeysWithValues: try ProbeLedger.Series.allCases.map { series in
                let requests = try settings.keys.enumerated().map { place, key in
                    try NumberedRequest(
                        // No other record has it, where there are enough.
                        tokens: key.slice(key.count - 1..<key.count),
                        title: ProbeLedger.title(series, place: place)
                    )
                }
                return (series, requests)
            }
        )
        producer = try KafkaProducer(properties: [
            "bootstrap.servers": settings.brokers, "acks": "all", "linger.ms": "1",
        ])
        producer.onDelivery = { [unowned self] _, error, _, _ in
            if let error { failure = error }
        }
    }

    func close() {
        producer.close()
    }

    /// Publishes what is due at a rate, then rests for a moment.
    func turn(rate: Double) throws {
        let now = SharedLedger.now
        if rate != self.rate {
            (self.rate, since, probesSent, othersSent) = (rate, now, 0, 0)
        }
        if rate > 0 { try publishDue(elapsed: Double(now - since) / 1e9, now: now) }
        producer.poll(timeoutMilliseconds: 1)
        if let failure { throw failure }
    }

    private func publishDue(elapsed: Double, now: Int64) throws {
        let probesDue = Int(elapsed * min(rate, Double(settings.probes)))
        while probesSent < probesDue {
            probesSent += 1
            try publishProbe()
        }
        guard now >= nextBurst else { return }
        nextBurst = now + Self.burstNanoseconds
        let othersDue = Int(elapsed * max(0, rate - Double(settings.probes)))
        while othersSent + Self.tokensPerRecord <= othersDue {
            othersSent += Self.tokensPerRecord
            requests[place].setNumber(number)
            try publish(requests[place], key: settings.keys[place])
            published += min(Self.tokensPerRecord, settings.keys[place].count)
        }
        place = (place + 1) % settings.keys.count
    }

    private func publishProbe() throws {
        probePlace = (probePlace + 1) % settings.keys.count
        let (place, now) = (probePlace, SharedLedger.now)
        let series = load.withLedger { $0.publish(place, now: now) }
        guard var request = probes[series]?[place] else { return }
        request.setNumber(number)
        try publish(request, key: settings.keys[place])
        published += 1
    }

    private func publish(_ request: NumberedRequest, key: LaneKeys.Key) throws {
        number += 1
        try producer.produce(topic: settings.topic, key: key.name, value: request.value)
    }
}
