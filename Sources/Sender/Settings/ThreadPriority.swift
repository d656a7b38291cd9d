import Glibc

/// The priority of the calling thread among all that wait for a processor.
enum ThreadPriority {
    private static let thread = __priority_which_t(PRIO_PROCESS.rawValue)

    /// The nice value: the higher, the later its turn.
    static var niceness: Int32 {
        // 0 names the calling thread.
        getpriority(thread, 0)
    }

    /// Raises the nice value of this thread, and of those that it begins later. Linux has one for each thread, and a
    /// process may not lower it again.
    ///
    /// - Returns: false: the system does not allow it, and the thread competes with those of the first lane.
    static func lower(by steps: Int32) -> Bool {
        // A value beyond 19 counts as 19.
        steps == 0 || setpriority(thread, 0, niceness + steps) == 0
    }
}
