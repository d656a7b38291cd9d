import Testing

@testable import Console

/// The rule for the number of workers, case by case.
struct AdviceTests {
    /// Four workers, busy, on twelve partitions; records wait for a minute's work.
    private func load(_ change: (inout Advice.Load) -> Void = { _ in }) -> Advice.Load {
        var load = Advice.Load(
            workers: 4,
            partitions: 12,
            waitingRecords: 120_000,
            recordsPerSecond: 2000,
            growthPerSecond: 0,
            meanCores: 3
        )
        change(&load)
        return load
    }

    @Test("Without a worker that answers nothing is known")
    func unknown() {
        let advice = Advice(load { $0.workers = 0 })
        #expect(advice.verdict == .unknown && advice.wanted == nil)
    }

    @Test("Records that wait for longer than 30 s want so many workers that they are worked off in five minutes")
    func more() {
        // 2,000 arrive a second, 400 more are to be worked off, 500 a worker can do.
        let advice = Advice(load())
        #expect(advice.verdict == .more && advice.wanted == 5)
        #expect(advice.text.contains("120,000 records wait") && advice.text.contains("5 workers"))
    }

    @Test("Records that pile up count as arriving, and those that become fewer do not")
    func growth() {
        let growing = Advice(load { $0.growthPerSecond = 1000 })
        #expect(growing.verdict == .more && growing.wanted == 7)
        let falling = Advice(load { $0.growthPerSecond = -400 })
        #expect(falling.verdict == .enough && falling.wanted == nil)
        #expect(falling.text.hasSuffix("they are worked off in 5 minutes."))
        let slowly = Advice(load { $0.growthPerSecond = -300 })
        #expect(slowly.verdict == .more && slowly.wanted == 5)
    }

    @Test("Few records, or half a minute's work, are no reason for a change")
    func quiet() {
        let few = load {
            $0.waitingRecords = Advice.quietRecords - 1
            $0.recordsPerSecond = 0
        }
        #expect(Advice(few).verdict == .enough)
        #expect(Advice(load { $0.waitingRecords = 59_999 }).verdict == .enough)
        #expect(Advice(load { $0.waitingRecords = 60_000 }).verdict == .more)
        let enough = load {
            $0.waitingRecords = Advice.quietRecords
            $0.recordsPerSecond = 0
        }
        #expect(Advice(enough).verdict == .stuck)
    }

    @Test("No more workers are advised than there are partitions, and none when each partition has its own")
    func partitions() {
        let capped = Advice(load { $0.growthPerSecond = 100_000 })
        #expect(capped.verdict == .more && capped.wanted == 12)
        let full = Advice(load { $0.partitions = 4 })
        #expect(full.verdict == .partitions && full.wanted == nil && full.text.contains("more partitions do"))
    }

    @Test("Where workers read several Kafka topics, the one in which most records wait is named")
    func lanes() {
        let bulk = load { $0.kafkaTopic = "push.requests.bulk" }
        let words = "120,000 records, most of them in push.requests.bulk, wait"
        #expect(Advice(bulk).text.hasPrefix("\(words), and a worker takes in 500 a second"))
        let stuck = load {
            $0.kafkaTopic = "push.requests.bulk"
            $0.recordsPerSecond = 0
        }
        #expect(Advice(stuck).text.hasPrefix("\(words) and none is taken in"))
    }

    @Test("Of the partitions those of the lane count in which most records wait: each lane has some for every worker")
    func partitionsOfLanes() {
        var fleet = FleetFixture()
        fleet.list(1, 2, 3)
        var taken = 0
        fleet.wait(10) { fleet in
            taken += 100
            for number in 1...2 {
                fleet.answer(number) {
                    $0.hold(2 * number, 2 * number + 1, suffix: ".urgent")
                    $0.hold(2 * number, 2 * number + 1, waiting: 10)
                    $0.hold(number, suffix: ".bulk", waiting: 60_000)
                    $0.totals = ["records": taken]
                }
            }
            // The registrar's do not count.
            fleet.answer(3) {
                $0.role = "registrar"
                $0.partitions = [.init(kafkaTopic: "push.registrations", number: 0, lagRecords: 9)]
            }
        }
        let advice = fleet.document.advice
        #expect(advice.verdict == .partitions && advice.text.contains("each of the 2 partitions"))
        #expect(advice.text.hasPrefix("120,040 records, most of them in push.requests.bulk, wait"))
    }

    @Test("Records that wait while none is taken in want no worker, but an operator")
    func stuck() {
        let advice = Advice(load { $0.recordsPerSecond = 0.9 })
        #expect(advice.verdict == .stuck && advice.wanted == nil)
    }

    @Test("Idle workers are too many after an hour, but two stay")
    func fewer() {
        func calm(_ cores: Double?, workers: Int = 4) -> Advice {
            Advice(
                load {
                    $0.waitingRecords = 0
                    $0.meanCores = cores
                    $0.workers = workers
                }
            )
        }
        #expect(calm(0.9).verdict == .fewer && calm(0.9).wanted == 2)
        #expect(calm(1.4, workers: 8).wanted == 3)
        #expect(calm(0.01).wanted == 2)
        #expect(calm(1).verdict == .enough)
        #expect(calm(nil).verdict == .enough)
        #expect(calm(0.01, workers: 2).verdict == .enough)
        #expect(calm(0.01, workers: 1).text.contains("A second one"))
    }

    @Test("Idle workers are not taken away while records wait")
    func idleWhileWaiting() {
        #expect(Advice(load { $0.meanCores = 0.1 }).verdict == .more)
    }

    @Test("No figure is too large for the advice")
    func extremes() {
        let most = load {
            $0.waitingRecords = .max
            $0.recordsPerSecond = 1e9
            $0.growthPerSecond = 1e300
            $0.partitions = .max
        }
        #expect(Advice(most).wanted == 1_000_000)
        #expect(Advice(load { $0.growthPerSecond = -1e300 }).verdict == .enough)
    }
}
