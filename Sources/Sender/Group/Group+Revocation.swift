import PipelineCore

extension Group {
    /// Partitions being given back.
    struct Revocation {
        enum Step {
            /// Notifications in flight settle.
            case settling
            /// The last position is being committed.
            case committing
        }

        /// Ascending. One that begins before another is over takes its partitions over.
        let number: UInt64
        var partitions: [PartitionAssignment]
        /// The ends of the lanes that must be settled.
        var barriers: [LaneBarrier]
        /// Until then notifications in flight may settle. Those of topics that work have by then.
        var settlesUntil: MonotonicTime
        /// Until then the broker may acknowledge what was published.
        var deadline: MonotonicTime
        var step = Step.settling
    }
}
