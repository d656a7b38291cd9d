import CAllocator

/// Memory that the process has freed, and that the allocator would keep.
///
/// Of its own accord the allocator gives back free pages at the ends of its heaps alone, and it raises the size of the
/// blocks that it maps one by one to that of each one that is freed, up to 32 MiB. Tables then lie among small blocks
/// of long life, and leave holes that count as resident: dozens of megabytes in a worker whose topics have drained.
enum FreedMemory {
    /// The smallest block that is mapped by itself: the allocator's own first choice.
    private static let largeBlockBytes: Int32 = 128 << 10
    /// The time between two returns. Each takes milliseconds, in which other threads may wait for memory. [ours]
    private static let interval = Duration.seconds(20)

    /// Keeps large blocks apart from now on, for the life of the process. Called before the role's threads begin.
    static func keepLargeBlocksApart() {
        mallopt(M_MMAP_THRESHOLD, largeBlockBytes)
    }

    /// Gives all free pages back to the system, on any thread.
    static func giveBack() {
        malloc_trim(0)
    }

    /// Does so at intervals, until its task is cancelled.
    static func giveBackRegularly() async throws {
        while true {
            try await Task.sleep(for: interval)
            giveBack()
        }
    }
}
