import CVector
import Glibc

/// Memory that is read all over the place at random.
enum HugePages {
    /// The size of a huge page: the smallest memory that can gain by them.
    static let pageBytes = 2 << 20

    /// Asks the kernel to back a piece of memory with huge pages, before it is written for the first time: finding the
    /// page of an address then misses the processor's caches far less often. Without them everything works as well.
    static func advise(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { return }
        let start = (UInt(bitPattern: base) + UInt(pageBytes) - 1) & ~(UInt(pageBytes) - 1)
        let end = (UInt(bitPattern: base) + UInt(memory.count)) & ~(UInt(pageBytes) - 1)
        guard start < end, let pages = UnsafeMutableRawPointer(bitPattern: start) else { return }
        // Not every kernel has them; that is as good as an answer of no.
        _ = madvise(pages, Int(end - start), Int32(MADV_HUGEPAGE))
    }
}

extension Array where Element: FixedWidthInteger {
    /// So many elements of one value, in huge pages if they can be had.
    static func inHugePages(repeating value: Element, count: Int) -> [Element] {
        [Element](unsafeUninitializedCapacity: count) { elements, initialized in
            HugePages.advise(UnsafeMutableRawBufferPointer(elements))
            elements.initialize(repeating: value)
            initialized = count
        }
    }

    /// Has an element fetched into the processor's caches, because it will be needed soon; it is not waited for.
    /// Nothing happens when there is no such element.
    @inline(__always)
    func prefetch(_ index: Int) {
        withUnsafeBufferPointer { elements in
            guard elements.indices.contains(index), let start = elements.baseAddress else { return }
            belfry_prefetch(start + index)
        }
    }
}
