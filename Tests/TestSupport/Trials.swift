/// Seeds for the test of a property: 1 and up.
///
/// All of them where rules are optimized, as CI builds them. A debug build takes ten times as long for each: it tries a
/// tenth of them, so that a check after an edit takes less. Not for tests that ask how much happens in all worlds.
///
/// - Parameter count: the number of seeds where rules are optimized, 1 and more.
public func trials(_ count: UInt64) -> ClosedRange<UInt64> {
    #if DEBUG
    1...max(count / 10, min(count, 5))
    #else
    1...count
    #endif
}
