import PipelineCore
import RequestLanes

/// Quotas of the urgent lane.
extension WorldPlan {
    /// Most topics have a quota, and mostly more in the urgent lane than that.
    mutating func chooseQuotas(_ dice: inout Dice) {
        guard options.requestLanes.contains(.urgent), options.requestLanes.contains(.normal) else { return }
        for topic in 0..<options.topics where dice.chance(60) {
            options.quotas[topic] = dice.chance(20) ? 0 : dice.pick(1...60)
        }
        guard !options.quotas.isEmpty else { return }
        options.changesQuotas = dice.chance(40)
        guard !options.isCalm else { return }
        if dice.chance(40) { dieWhileMoving(&dice) }
        if dice.chance(30) {
            add(.publishingRefused(isUnknown: dice.chance(50)), lasting: 500...9000, &dice)
            faults[faults.count - 1].topic = World.movesNumber
        }
        if dice.chance(20) { options.largestPublication = dice.pick(2500...6000) }
        if dice.chance(20) {
            add(.producerBroken, lasting: 0...0, &dice)
            faults[faults.count - 1].topic = 0
        }
    }

    /// A worker is killed when the normal lane has what it moved, and it does not know.
    private mutating func dieWhileMoving(_ dice: inout Dice) {
        add(.acknowledgementsLate, lasting: 2000...4000, &dice)
        // It meets the first shard of its process: the urgent lane's, if the process serves that.
        faults[faults.count - 1].topic = 0
        guard let late = faults.last else { return }
        let delay = dice.time(300...2000)
        faults.append(Fault(.crash, at: late.time + delay, lasting: dice.time(50...3000), worker: late.worker))
    }
}
