import PipelineCore
import PushSchemas
import RequestLanes

/// Levers hold as soon as a worker has read them.
extension Auditor {
    func noteDiscard(_ order: AppControl.Discard, ofTopic topic: Int, in lane: RequestLane) {
        discards[[topic, world.laneMap.index(of: lane)], default: []].append(order)
    }

    /// A gateway takes a notification.
    ///
    /// - Parameters:
    ///   - levers: those that its worker had read when it wrote the notification.
    ///   - lane: the worker's; nil: that of the record.
    func checkLevers(_ levers: AppControls, record: Int, token: Int, in lane: RequestLane? = nil) {
        guard !levers.all.isEmpty, record < firstOf.count else { return }
        let numbers = numbers(record: record, token: token, in: lane ?? world.records[record].lane)
        guard let number = numbers.first else { return }
        let entry = world.records[notifications[number].record]
        let control = levers.control(of: world.leverName(ofTopic: entry.topic), in: entry.lane)
        check(!control.isPaused, 11, "\(name(number)) was sent, though its topic was paused, or its lane of that")
        // One that has its outcome may have to be sent again: it is known to have got lost on its way. Of others the
        // world does not hear. Of several copies it is not known which one was sent.
        guard let order = control.discard, options.publishesAll, entry.report == nil, numbers.count == 1,
            notifications[number].outcomeAt == nil
        else { return }
        check(!covers(order, notifications[number].record), 11, "\(name(number)) was sent, though it was discarded")
    }

    /// A notification ended as `aborted`.
    func checkAborted(_ number: Int) {
        check(
            isDiscarded(notifications[number].record),
            11,
            "\(name(number)) is aborted, and nobody has discarded it"
        )
    }

    func isDiscarded(_ record: Int) -> Bool {
        let entry = world.records[record]
        return discards[[entry.topic, world.laneMap.index(of: entry.lane)], default: []].contains { covers($0, record) }
    }

    func covers(_ order: AppControl.Discard, _ record: Int) -> Bool {
        guard let offset = world.offset(ofRecord: record) else { return false }
        return order.covers(
            partition: world.laneMap.place(of: world.partition(ofRecord: record)).partition,
            offset: offset,
            publishedAt: World.unixMilliseconds(of: world.records[record])
        )
    }
}
