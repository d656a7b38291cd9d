import Foundation
import LocalPipeline
import PushSchemas
import Testing

@testable import Demo

struct OvertakingTests {
    private static let topic = RequestPlan.Topic(
        bundleID: "com.example.weather",
        living: (0..<4000).map { number in (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8) &+ $0) } },
        uninstalled: []
    )

    /// Numbers of records are counted from 100.
    private static func overtaking() -> Overtaking {
        var plan = RequestPlan(seed: 1, firstNumber: 100, now: 1_700_000_000)
        return Overtaking(topic, &plan)
    }

    @Test("A backlog has one key, and its last record is for the device of the urgent one")
    func records() throws {
        let story = Self.overtaking()
        #expect(story.notifications == 600 && Set(story.bulk.map(\.key)) == ["com.example.weather#3"])
        #expect(story.urgent.count == 1 && story.urgent[0].notifications == 1)
        #expect(story.urgent[0].key == story.bulk[0].key)
        #expect(try #require(story.bulk.last).notifications == 1)
        for record in [story.bulk[story.bulk.count - 1], story.urgent[0]] {
            let request = try record.value.withUnsafeBytes {
                try RequestDecoding.decode(PushSendRequest.self, from: $0, as: record.isJSON ? .json : .protobuf)
            }
            #expect(Array(request.packedTokens) + request.tokens.flatMap { Array($0.raw) } == story.device)
        }
    }

    @Test("The urgent notification has overtaken the backlog if its device got it before the last one in bulk")
    func order() {
        let story = Self.overtaking()
        let bulk = UInt32(100 + story.bulk.count)
        let urgent = bulk + 1
        #expect(story.hasOvertaken([7, urgent, bulk, 9999]))
        #expect(!story.hasOvertaken([7, bulk, urgent]))
        #expect(!story.hasOvertaken([bulk]) && !story.hasOvertaken([urgent]))
        // One that was sent again had come before.
        #expect(story.hasOvertaken([urgent, bulk, urgent]))
    }
}
