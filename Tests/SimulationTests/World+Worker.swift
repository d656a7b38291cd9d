@testable import belfry_simulate

extension World {
    /// The first shard of a process that is not among the world's.
    func makeWorker(slot: Int = 0, number: Int = 1) -> SimulatedWorker {
        SimulatedProcess(world: self, slot: slot, number: number).workers[0]
    }
}
