import Testing

@testable import PageParts

/// `GET /events`: framing, and what a slow page is sent.
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
