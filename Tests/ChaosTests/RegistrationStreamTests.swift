import LocalPipeline
import PushSchemas
import SwiftProtobuf
import Testing

@Suite("The registrations that a chaos run publishes")
struct RegistrationStreamTests {
    private static func stream(_ seed: UInt64) -> RegistrationStream {
        RegistrationStream(
            seed: seed,
            topics: ["com.example.post", "com.example.tide"],
            tokens: (0..<2).map { topic in (0..<100).map { [UInt8](repeating: UInt8(topic * 100 + $0), count: 32) } },
            start: 1_000_000,
            isHot: { $0.topic == 1 && $0.device == 7 }
        )
    }

    @Test("The same seed and number make the same record, another seed another one")
    func seeded() {
        #expect(Self.stream(1).record(5) == Self.stream(1).record(5))
        #expect((1...20).contains { Self.stream(1).record($0) != Self.stream(2).record($0) })
    }

    @Test("Half of them are of the hot tokens, few are unregistrations, and all tokens come")
    func shares() {
        let stream = Self.stream(1)
        let records = (1...10_000).map { stream.record($0) }
        let hot = records.count { $0.token == DevicePlace(topic: 1, device: 7) }
        #expect((4500...5600).contains(hot))
        #expect((300...700).contains(records.count(where: \.isUnregistration)))
        #expect(Set(records.map(\.token)).count == 200)
    }

    @Test("Times grow with the number, out of order by the disorder at most")
    func times() {
        let stream = Self.stream(1)
        for number in UInt32(1)...10_000 {
            let expected = 1_000_000 + number / UInt32(RegistrationStream.rate)
            let time = stream.record(number).time
            #expect((expected...expected + RegistrationStream.disorderSeconds).contains(time))
        }
    }

    @Test("A record's value says token, time, kind and the locale of its second")
    func values() throws {
        let stream = Self.stream(1)
        for number in UInt32(1)...100 {
            let record = stream.record(number)
            let value = try PushRegistration(serializedBytes: stream.value(of: record))
            #expect(try value.token.bytes() == stream.bytes(of: record.token))
            #expect(value.registeredAt == Int64(record.time))
            #expect(value.kind == (record.isUnregistration ? .unregister : .register))
            #expect(value.locale == RegistrationStream.locale(at: record.time))
        }
    }
}
