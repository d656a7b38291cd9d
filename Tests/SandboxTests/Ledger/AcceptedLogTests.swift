import APNsProtocol
import Foundation
import Glibc
import Testing

@testable import Sandbox

/// The acceptances in order, in memory and in a file.
struct AcceptedLogTests {
    private func withFile(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "accepted-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    private func chunk(_ records: [AcceptedRecord], limit: Int = 100) -> AcceptedChunk {
        var chunk = AcceptedChunk(limit: limit)
        for record in records { chunk.append(record) }
        return chunk
    }

    private func record(_ number: UInt32, topic: UInt16 = 0) -> AcceptedRecord {
        let instance = AppInstance(device: number, generation: UInt8(number % 64))
        return AcceptedRecord(topic: topic, instance: instance, mark: ~number, time: 1_000_000 + number)
    }

    private func lines(_ path: String) throws -> [String] {
        var lines: [String] = []
        try Sandbox.forEachAcceptance(file: path) { lines.append($0) }
        return lines
    }

    private func line(_ number: UInt32, topic: String = "a") -> String {
        let record = record(number)
        return #"{"topic":"\#(topic)","device":\#(number),"generation":\#(number % 64),"n":\#(record.mark),"#
            + #""time":"\#(UTCText.text(unixSeconds: record.time))"}"#
    }

    @Test("The log of a device is in the order of acceptance, as far back as there is room")
    func order() {
        var log = AcceptedLog(limit: 10)
        for mark in 0..<25 as Range<UInt32> {
            let instance = AppInstance(device: mark % 2, generation: mark < 20 ? 0 : 1)
            log.append(instance, mark: mark)
            let remembered = (0...mark).suffix(10).filter { $0 % 2 == 0 }
            #expect(log.entries(device: 0, generation: nil).map(\.mark) == remembered)
            #expect(log.count == min(10, Int(mark) + 1))
            #expect(log.forgotten == max(0, Int(mark) - 9))
        }
        #expect(log.entries(device: 1, generation: 1).map(\.mark) == [21, 23])
        #expect(log.entries(device: 1, generation: 0).map(\.mark) == [15, 17, 19])
        #expect(log.entries(device: 7, generation: nil) == [])
    }

    @Test("Only what is accepted is in the log")
    func acceptedOnly() {
        let fixture = TopicFixture()
        #expect(fixture.accept(device: 5, n: 1))
        fixture.ledger.set(5, .offline, now: TopicFixture.now)
        #expect(fixture.accept(device: 5, n: 2))
        #expect(fixture.accept(device: 5, n: 2, expiration: 1))
        fixture.ledger.set(5, .removed, now: TopicFixture.now)
        #expect(!fixture.accept(device: 5, n: 3))
        #expect(fixture.ledger.log.entries(device: 5, generation: 0).map(\.mark) == [1, 2, 2])
    }

    @Test("A record survives its way through memory", arguments: [0, 1, 16_777_214] as [UInt32])
    func words(device: UInt32) {
        for (topic, generation, mark, time) in [(0, 0, 0, 0), (65_535, 255, .max, .max)]
            as [(UInt16, UInt8, UInt32, UInt32)]
        {
            let instance = AppInstance(device: device, generation: generation)
            let record = AcceptedRecord(topic: topic, instance: instance, mark: mark, time: time)
            let (first, second) = record.words
            #expect(AcceptedRecord(first, second) == record)
        }
    }

    @Test("A full chunk counts what finds no room")
    func fullChunk() {
        var full = chunk((0..<5).map { record($0) }, limit: 3)
        #expect(full.count == 3)
        #expect(full.dropped == 2)
        full.clear()
        full.append(record(9))
        #expect(full.count == 1)
        #expect(full.dropped == 0)
        #expect(!AcceptedChunk(limit: 0).isRecording)
    }

    @Test("What the gateway accepts is recorded with its topic and time")
    func recorded() {
        let fixture = TopicFixture()
        var settings = DeviceLedger.Settings()
        settings.topic = 7
        settings.recordedRecords = 10
        fixture.ledger = DeviceLedger(devices: 10, settings: settings)
        #expect(fixture.accept(device: 3, n: 5, now: 2_000_000))
        var taken = AcceptedChunk(limit: 10)
        fixture.ledger.takeRecorded(into: &taken)
        let expected = AcceptedRecord(topic: 7, instance: AppInstance(device: 3), mark: 5, time: 2_000_000)
        #expect(taken.count == 1)
        #expect(AcceptedRecord(taken.words[0], taken.words[1]) == expected)
        #expect(fixture.ledger.recorded.count == 0)
    }

    @Test("The file is printed as it was written, and goes on where it ended")
    func file() throws {
        try withFile { path in
            for start in [0, 3] as [UInt32] {
                var file = try AcceptedLogFile.open(path: path, topics: ["a", #"b"c"#])
                let outcome = file.write(chunk((start..<start + 3).map { record($0) }))
                #expect(outcome.lost == 0)
            }
            var file = try AcceptedLogFile.open(path: path, topics: ["a", #"b"c"#])
            let outcome = file.write(chunk([record(6, topic: 1)]))
            #expect(outcome.lost == 0)
            #expect(try lines(path) == (0..<6).map { line($0) } + [line(6, topic: #"b\"c"#)])
        }
    }

    @Test("Half a record at the end is left out, and written over")
    func halfRecord() throws {
        try withFile { path in
            var file = try AcceptedLogFile.open(path: path, topics: ["a"])
            _ = file.write(chunk([record(1)]))
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data([1, 2, 3]))
            try handle.close()
            #expect(try lines(path) == [line(1)])
            var reopened = try AcceptedLogFile.open(path: path, topics: ["a"])
            _ = reopened.write(chunk([record(2)]))
            #expect(try lines(path) == [line(1), line(2)])
        }
    }

    @Test("A file of something else, or of other topics, is not touched")
    func foreignFile() throws {
        try withFile { path in
            for content in [Data("something precious".utf8), Data(AcceptedRecord.header(topics: ["b"])), Data([0x42])] {
                try content.write(to: URL(filePath: path))
                let error = #expect(throws: SandboxSetupError.self) {
                    _ = try AcceptedLogFile.open(path: path, topics: ["a"])
                }
                #expect(error?.subject == path)
                #expect(try Data(contentsOf: URL(filePath: path)) == content)
            }
        }
    }

    @Test("What cannot be written is counted, with the reason")
    func fullDisk() throws {
        let descriptor = open("/dev/full", O_WRONLY)
        try #require(descriptor >= 0)
        var file = AcceptedLogFile(descriptor: descriptor, offset: 0)
        let outcome = file.write(chunk((0..<5).map { record($0) }))
        #expect(outcome.lost == 5)
        #expect(outcome.reason == "No space left on device")
        let error = #expect(throws: SandboxSetupError.self) {
            _ = try AcceptedLogFile.open(path: "/dev/full", topics: ["a"])
        }
        #expect(error?.subject == "/dev/full")
    }

    @Test(
        "What is not a log is not printed",
        arguments: ["", "BELFRYAL", "BELFRYAL\u{1}\0\u{5}\0", "nonsense, and a lot"]
    )
    func notALog(content: String) throws {
        try withFile { path in
            try Data(content.utf8).write(to: URL(filePath: path))
            #expect(throws: SandboxSetupError.self) { try lines(path) }
        }
        #expect(throws: SandboxSetupError.self) { try lines("nowhere") }
    }
}
