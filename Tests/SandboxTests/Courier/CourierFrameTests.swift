import TestSupport
import Testing

@testable import Sandbox

/// The courier's frames: what one side writes the other reads, however it is cut, and nothing else gets in.
struct CourierFrameTests {
    private static let token = [UInt8](repeating: 7, count: 32)
    private static let longest = String(repeating: "t", count: 255)

    private static let requests: [CourierRequest] = [
        .register(topic: "a"), .register(topic: longest), .present(token: token), .unregister(topic: "com.example.ü"),
        .restore(topic: "b"), .wipe(topic: "c"), .present(token: [UInt8](repeating: 1, count: 255)),
    ]

    private static let messages: [CourierMessage] =
        [
            .token(topic: "a", token: token), .presented(topic: longest), .unregistered(topic: "b"),
            .notification(notification(payload: Array(#"{"aps":{}}"#.utf8))),
            .notification(notification(payload: [])), .notification(notification(payload: [0xff, 0, 1])),
            .notification(notification(payload: [UInt8](repeating: 9, count: 5120))),
            .notification(
                CourierNotification(
                    topic: longest,
                    token: token,
                    expiration: 0,
                    priority: 1,
                    pushType: "alert",
                    collapseID: [UInt8](repeating: 7, count: 64),
                    payload: [UInt8](repeating: 9, count: 5120)
                )
            ),
        ] + CourierRefusal.Code.allCases.map { .refused(CourierRefusal(code: $0, text: "because \($0)")) }

    private static func notification(payload: [UInt8]) -> CourierNotification {
        CourierNotification(
            topic: "com.example.news",
            token: token,
            expiration: 0xfedc_ba98,
            priority: 5,
            payload: payload
        )
    }

    /// Decodes a stream that is cut at random places.
    private func frames(_ stream: [UInt8], seed: UInt64) throws -> [CourierFrameDecoder.Frame] {
        var (decoder, random) = (CourierFrameDecoder(), SeededGenerator(seed: seed))
        var (frames, rest): ([CourierFrameDecoder.Frame], ArraySlice<UInt8>) = ([], stream[...])
        while !rest.isEmpty {
            let chunk = rest.prefix(Int.random(in: 1...(seed.isMultiple(of: 2) ? 9 : 3000), using: &random))
            rest = rest.dropFirst(chunk.count)
            chunk.withUnsafeBytes { decoder.append($0) }
            while let frame = try decoder.next() { frames.append(frame) }
        }
        #expect(decoder.bufferedBytes == 0)
        return frames
    }

    @Test("What is written is read, wherever the stream is cut", arguments: 0..<20 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        let requests = try frames(Self.requests.flatMap(\.encoded), seed: seed).map { try CourierRequest($0) }
        #expect(requests == Self.requests)
        let messages = try frames(Self.messages.flatMap { $0.encoded ?? [] }, seed: seed).map { try CourierMessage($0) }
        #expect(messages == Self.messages)
    }

    @Test("The bytes are those of the table")
    func layout() {
        #expect(CourierRequest.register(topic: "ab").encoded == [1, 0, 2, 0x61, 0x62])
        #expect(CourierRequest.present(token: [9, 8]).encoded == [2, 0, 2, 9, 8])
        #expect(CourierMessage.token(topic: "a", token: [9]).encoded == [0x81, 0, 3, 1, 0x61, 9])
        let notification = CourierNotification(topic: "a", token: [9, 8], expiration: 258, priority: 10, payload: [5])
        #expect(
            CourierMessage.notification(notification).encoded
                == [0x83, 0, 13, 1, 0x61, 2, 9, 8, 0, 0, 1, 2, 10, 0, 0, 5]
        )
        let labelled = CourierNotification(
            topic: "a",
            token: [9],
            expiration: 0,
            priority: 1,
            pushType: "mdm",
            collapseID: [7, 6],
            payload: [5]
        )
        #expect(
            CourierMessage.notification(labelled).encoded
                == [0x83, 0, 17, 1, 0x61, 1, 9, 0, 0, 0, 0, 1, 3, 0x6d, 0x64, 0x6d, 2, 7, 6, 5]
        )
        let refusal = CourierRefusal(code: .foreignToken, text: "x")
        #expect(CourierMessage.refused(refusal).encoded == [0x84, 0, 2, 2, 0x78])
    }

    @Test("A payload that no frame can hold is not written")
    func tooLongPayload() {
        let fits = CourierFrame.limitBytes - CourierFrame.headerBytes - 1 - 16 - 1 - 32 - 5 - 2
        let bytes = CourierMessage.notification(Self.notification(payload: [UInt8](repeating: 0, count: fits))).encoded
        #expect(bytes?.count == CourierFrame.limitBytes)
        let more = Self.notification(payload: [UInt8](repeating: 0, count: fits + 1))
        #expect(CourierMessage.notification(more).encoded == nil)
    }

    @Test("A frame over the limit is refused as soon as its header is there, and never held")
    func tooLongFrame() {
        var decoder = CourierFrameDecoder()
        ([1, 0x1f, 0xfe] as [UInt8]).withUnsafeBytes { decoder.append($0) }
        #expect(throws: CourierMalformation.tooLong(bytes: 8193)) { try decoder.next() }
        var allowed = CourierFrameDecoder()
        ([1, 0x1f, 0xfd] as [UInt8]).withUnsafeBytes { allowed.append($0) }
        #expect(throws: Never.self) { try allowed.next() }
    }

    @Test("Each way of being malformed has its reason")
    func malformedRequests() {
        let table: [(UInt8, [UInt8], CourierMalformation)] = [
            (0, [], .unknownType(0)), (6, [1], .unknownType(6)), (0x83, [1], .unknownType(0x83)),
            (1, [], .emptyField(.register)), (2, [], .emptyField(.present)),
            (3, [UInt8](repeating: 0x61, count: 256), .fieldTooLong(.unregister)),
            (2, [UInt8](repeating: 0x61, count: 256), .fieldTooLong(.present)),
            (4, [0xff], .notText(.restore)), (5, [0xc3], .notText(.wipe)),
        ]
        for (type, data, reason) in table {
            #expect(throws: reason) { try CourierRequest(CourierFrameDecoder.Frame(type: type, data: data)) }
        }
    }

    @Test("Each way in which a service can be malformed has its reason")
    func malformedMessages() {
        let table: [(UInt8, [UInt8], CourierMalformation)] = [
            (1, [0x61], .unknownType(1)), (0x86, [], .unknownType(0x86)), (0x81, [], .truncated(.token)),
            (0x81, [0], .emptyField(.token)), (0x81, [2, 0x61], .truncated(.token)),
            (0x81, [1, 0x61], .emptyField(.token)), (0x81, [1, 0xff, 1], .notText(.token)),
            (0x82, [], .emptyField(.presented)), (0x83, [1, 0x61, 1, 1, 0, 0, 0], .truncated(.notification)),
            (0x83, [1, 0x61, 1, 1, 0, 0, 0, 0], .truncated(.notification)), (0x84, [], .truncated(.refused)),
            (0x84, [77], .unknownCode(77)), (0x84, [1, 0xff], .notText(.refused)),
        ]
        for (type, data, reason) in table {
            #expect(throws: reason) { try CourierMessage(CourierFrameDecoder.Frame(type: type, data: data)) }
        }
    }

    @Test("Random bytes end in a reason or in waiting for less than a frame", arguments: 0..<50 as Range<UInt64>)
    func noise(seed: UInt64) {
        var (decoder, random) = (CourierFrameDecoder(), SeededGenerator(seed: seed))
        for _ in 0..<20 {
            let chunk = (0..<Int.random(in: 0...2000, using: &random)).map { _ in
                UInt8.random(in: 0...31, using: &random)
            }
            chunk.withUnsafeBytes { decoder.append($0) }
            do {
                while let frame = try decoder.next() {
                    _ = try? CourierRequest(frame)
                    _ = try? CourierMessage(frame)
                }
            } catch {
                return
            }
            #expect(decoder.bufferedBytes < CourierFrame.limitBytes)
        }
    }
}
