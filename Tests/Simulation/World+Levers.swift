import PipelineCore
import RequestLanes

/// Operators and their levers.
extension World {
    /// A topic as its levers name it.
    func leverName(ofTopic topic: Int) -> AppControls.Name {
        AppControls.Name(environment: plan.options.environment(of: topic), bundleID: Self.bundles[topic])
    }

    /// Lets a fault meet the levers.
    func pullLever(_ fault: Fault) {
        let topic = fault.topic % gateways.count
        switch fault.kind {
        case .paused: set(.pause, ofTopic: topic, in: fault.lane, for: fault.lasting)
        case .paced(let rate):
            set(.pace(notificationsPerSecond: rate), ofTopic: topic, in: fault.lane, for: fault.lasting)
        case .discarded(let age): discard(ofTopic: topic, in: fault.lane.map { [$0] } ?? laneMap.lanes, age: age)
        default: break
        }
    }

    /// - Parameter lane: nil: the record names none.
    private func set(
        _ setting: AppControl.Setting,
        ofTopic topic: Int,
        in lane: RequestLane?,
        for time: VirtualTime
    ) {
        let name = leverName(ofTopic: topic)
        controls.set(setting.lever, of: name, in: lane, setting)
        tellWorkers()
        clock.after(time) { [self] in
            controls.set(setting.lever, of: name, in: lane, nil)
            tellWorkers()
        }
    }

    /// For good. Each lane has an order of its own, because the ends of its partitions are.
    private func discard(ofTopic topic: Int, in lanes: [RequestLane], age: Int64) {
        let before = Int64(Self.unixSeconds(clock.now)) * 1000 + Int64(clock.now / .milliseconds(1) % 1000) - age
        for lane in lanes {
            let ends = laneMap.partitions(of: lane).map { (laneMap.place(of: $0).partition, broker.end(of: $0)) }
            let order = AppControl.Discard(publishedBefore: before, ends: Dictionary(uniqueKeysWithValues: ends))
            auditor.noteDiscard(order, ofTopic: topic, in: lane)
            let named = AppControl.Lever.discard.named(for: lane)
            controls.set(.discard, of: leverName(ofTopic: topic), in: named, .discard(order))
        }
        tellWorkers()
    }

    /// Each worker reads the change a while later.
    private func tellWorkers() {
        for process in processes where process.isRunning { process.readControls(after: dice.time(0...2000)) }
    }
}
