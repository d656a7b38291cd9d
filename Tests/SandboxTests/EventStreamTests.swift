import Testing

@testable import Sandbox

/// `GET /events`: framing, documents, and what is sent to whom when.
struct EventStreamTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("An event is its name, a line for each line of data, and an empty line")
    func framing() {
        #expect(text(ServerSentEvent.frame("stats", Array("{}".utf8))) == "event: stats\ndata: {}\n\n")
        #expect(text(ServerSentEvent.frame("a", [])) == "event: a\ndata: \n\n")
    }

    @Test(
        "No data can begin another event",
        arguments: ["x\n\nevent: evil", "x\r\revent: evil", "x\r\n\r\nevent: evil"]
    )
    func injection(data: String) {
        let frame = text(ServerSentEvent.frame("a", Array(data.utf8)))
        let lines = frame.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "event: a")
        #expect(lines.dropFirst().dropLast(2).allSatisfy { $0.hasPrefix("data: ") && !$0.contains("\r") })
        #expect(lines.suffix(2) == ["", ""])
    }

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

    @Test("A page that does not read gets the newest counts when it reads again, and no old flashes")
    func slowPage() {
        var subscriber = EventSubscriber()
        func tick(_ isWritable: Bool, flashes: Bool, stats: Bool, _ now: Int64) -> EventSubscriber.Action {
            subscriber.tick(
                isWritable: isWritable,
                hasFlashes: flashes,
                hasNewStats: stats,
                nowMilliseconds: now,
                stallMilliseconds: 30_000
            )
        }
        #expect(tick(true, flashes: false, stats: false, 0) == .send(flashes: false, stats: true))
        #expect(tick(true, flashes: false, stats: false, 100) == .nothing)
        #expect(tick(true, flashes: true, stats: false, 200) == .send(flashes: true, stats: false))
        #expect(tick(false, flashes: true, stats: true, 300) == .nothing)
        #expect(tick(false, flashes: true, stats: false, 30_299) == .nothing)
        #expect(tick(true, flashes: false, stats: false, 30_300) == .send(flashes: false, stats: true))
        #expect(tick(true, flashes: false, stats: false, 30_400) == .nothing)
        #expect(tick(false, flashes: true, stats: true, 40_000) == .nothing)
        #expect(tick(false, flashes: true, stats: true, 70_000) == .close)
    }
}
