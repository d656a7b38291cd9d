import Testing

@testable import belfry_chaos

@Suite("Standstills of workers in their metrics")
struct StandstillTests {
    private static let text = """
        # HELP belfry_event_loop_delay_seconds Lateness.
        belfry_event_loop_delay_seconds_bucket{loop="shard-0",le="0.001"} 7
        belfry_event_loop_delay_seconds_bucket{loop="shard-0",le="4.096"} 8
        belfry_event_loop_delay_seconds_bucket{loop="shard-0",le="8.192"} 9
        belfry_event_loop_delay_seconds_bucket{loop="shard-0",le="+Inf"} 9
        belfry_event_loop_delay_seconds_bucket{loop="shard-1",le="0.001"} 1
        belfry_event_loop_delay_seconds_bucket{loop="shard-1",le="+Inf"} 1
        belfry_event_loop_delay_seconds_count{loop="shard-0"} 9
        belfry_event_loop_silence_seconds{loop="shard-0"} 0.5
        belfry_event_loop_silence_seconds{loop="shard-1"} 1.25
        """

    @Test("The longest observation of a histogram exceeds the last bound that it is not below")
    func longest() {
        #expect(MetricsText.longest(of: "belfry_event_loop_delay_seconds", in: Self.text) == 4.096)
        #expect(MetricsText.longest(of: "belfry_other_seconds", in: Self.text) == 0)
        #expect(MetricsText.values(of: "belfry_event_loop_silence_seconds", in: Self.text) == [0.5, 1.25])
    }

    @Test("A worker's time without work is the longest for which it was made to stand still")
    func paused() throws {
        let meter = WorkerMeter()
        meter.pause("unknown")
        meter.goOn("unknown")
        #expect(meter.longestStandstills.isEmpty)
    }
}
