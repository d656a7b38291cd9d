import CAllocator
import Testing

@testable import BelfrySupport

/// Looks at the memory of the whole process, and so runs beside no other test.
@Suite struct FreedMemoryServerTests {
    @Test("Pages that were freed between blocks in use are given back")
    func freed() throws {
        let blocks = (0..<8192).map { _ in
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)
            block.initializeMemory(as: UInt8.self, repeating: 1)
            return block
        }
        // Every second one stays, so that no free ones grow together, up to the end of a heap.
        for (index, block) in blocks.enumerated() where !index.isMultiple(of: 2) { block.deallocate() }
        defer { for (index, block) in blocks.enumerated() where index.isMultiple(of: 2) { block.deallocate() } }
        let before = try #require(ProcessFigures.ofThisProcess()).residentBytes
        FreedMemory.giveBack()
        let after = try #require(ProcessFigures.ofThisProcess()).residentBytes
        // Most of 64 MiB: a page is given back whole.
        #expect(before - after > 32 << 20)
    }

    @Test("Large blocks are mapped by themselves, also after a larger one was freed")
    func largeBlocks() {
        FreedMemory.keepLargeBlocksApart()
        UnsafeMutableRawPointer.allocate(byteCount: 8 << 20, alignment: 16).deallocate()
        let before = mallinfo2().hblks
        let blocks = (0..<4000).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 160 << 10, alignment: 16) }
        defer { for block in blocks { block.deallocate() } }
        // Some find room that is free in a heap already. None is written to, so that they take no memory.
        #expect(mallinfo2().hblks - before >= blocks.count / 4)
    }
}
