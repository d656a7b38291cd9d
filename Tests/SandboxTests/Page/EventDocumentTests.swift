import Testing

@testable import Sandbox

/// `GET /events`: documents, and the pace at which they are sent.
struct EventDocumentTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("Flashes are devices in 24 bits, four characters each, by topic and kind; nothing happened is nothing")
    func flashes() {
        #expect(FlashesDocument.encode([]) == nil)
        #expect(FlashesDocument.encode([[[], [], [], []], [[], [], [], []]]) == nil)
        let samples: [ActivityTrace.Sample] = [
            [[], [], [], []], [[0, 1, 0xff_fffe], [], [0x01_0203], []], [[], [], [], [62]],
        ]
        let expected = #"{"1":["AAAAAAAB///+","","AQID",""],"2":["","","","AAA+"]}"#
        #expect(FlashesDocument.encode(samples).map(text) == expected)
    }

    @Test("Counts go out twice a second while they change, and every five seconds when they do not")
    func pacing() {
        var pacing = EventPacing()
        var sent: [Int] = []
        for interval in 1...120 {
            // They change during the first second and at the end.
            let counts: [UInt8] = [interval <= 10 ? UInt8(interval) : interval < 100 ? 0 : 1]
            if pacing.tick(), pacing.shouldSend(counts) { sent.append(interval) }
        }
        #expect(sent == [5, 10, 15, 65, 100])
    }
}
