import NIOCore

/// Periodic work of the push service. Releases what is held at the power-saving times, and lets devices change by
/// themselves. In slices, between which the gateway gets its topics back.
///
/// Belongs to one event loop, whose end is its end.
struct Upkeep {
    let service: PushService

    /// Begins; the first times are an interval away.
    func start(on loop: EventLoop, powerSavingInterval: TimeAmount) {
        let upkeep = self
        loop.scheduleRepeatedTask(initialDelay: powerSavingInterval, delay: powerSavingInterval) { _ in
            upkeep.releaseHeld()
        }
        loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            upkeep.churn()
        }
    }

    /// Releases the notifications held now. Later ones wait for the next time.
    private func releaseHeld() {
        let now = service.now
        for topic in service.topics {
            var left = topic.withLedger { $0.heldDevices.count }
            while left > 0 {
                let slice = min(left, SandboxLimits.devicesPerSlice)
                left -= slice
                topic.withLedger { _ = $0.releaseHeld(now: now, atMost: slice) }
            }
        }
    }

    private func churn() {
        let now = service.now
        for topic in service.topics {
            topic.withLedger { $0.tickChurn() }
            while !topic.withLedger({ $0.churnDevices(atMost: SandboxLimits.devicesPerSlice, now: now) }) {}
        }
    }
}
