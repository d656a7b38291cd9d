import Testing

@testable import PipelineCore

struct PartitioningIndexTests {
    @Test("It is where a search from the beginning would stop, for every length and place")
    func everyPlace() {
        for count in 0..<20 {
            for place in 0...count {
                #expect((0..<count).partitioningIndex { $0 >= place } == place)
                let slice = Array(0..<count + 3)[3...]
                #expect(slice.partitioningIndex { $0 >= place + 3 } == place + 3, "indices of a slice are its own")
            }
        }
    }
}
