import PipelineCore

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
        case .paused: set(.pause, ofTopic: topic, for: fault.lasting)
        case .paced(let rate): set(.pace(notificationsPerSecond: rate), ofTopic: topic, for: fault.lasting)
        case .discarded(let age):
            let before = Int64(Self.unixSeconds(clock.now)) * 1000 + Int64(clock.now / .milliseconds(1) % 1000) - age
            let ends = broker.partitions.indices.map { (Int32($0), broker.end(of: Int32($0))) }
            let order = AppControl.Discard(publishedBefore: before, ends: Dictionary(uniqueKeysWithValues: ends))
            auditor.noteDiscard(order, ofTopic: topic)
            set(.discard(order), ofTopic: topic, for: nil)
        default: break
        }
    }

    /// - Parameter time: nil: for good.
    private func set(_ setting: AppControl.Setting, ofTopic topic: Int, for time: VirtualTime?) {
        controls.set(setting.lever, of: leverName(ofTopic: topic), setting)
        tellWorkers()
        guard let time else { return }
        clock.after(time) { [self] in
            controls.set(setting.lever, of: leverName(ofTopic: topic), nil)
            tellWorkers()
        }
    }

    /// Each worker reads the change a while later.
    private func tellWorkers() {
        for worker in workers where worker.isRunning {
            worker.loop.deliver(after: dice.time(0...2000)) { [weak worker] in worker?.readControls() }
        }
    }
}
