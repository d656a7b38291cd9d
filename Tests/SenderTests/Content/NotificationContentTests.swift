import APNsProtocol
import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import PushTopics
import RequestRules
import Testing

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// The part of a record's notifications that is the same for all tokens, from the record to the connections.
@Suite("Requests over HTTP/2")
struct NotificationContentTests {
    @Test("A push type that is none is a dead letter that lists all")
    func unknownPushType() throws {
        let bench = IntakeBench()
        for name in ["Alert", "alerts", " alert", "größe"] { #expect(try bench.take { $0.pushType = name } == nil) }
        #expect(bench.letters.count == 4)
        for letter in bench.letters {
            #expect(letter.hasPrefix("push-type-invalid: "))
            for pushType in PushType.allCases { #expect(letter.contains(pushType.rawValue)) }
        }
    }

    @Test("The longest payload is that of the push type")
    func payloads() throws {
        func payload(_ bytes: Int) -> Data {
            let frame = #"{"aps":{"alert":""}}"#
            let text = #"{"aps":{"alert":""# + String(repeating: "x", count: bytes - frame.utf8.count) + #""}}"#
            return Data(text.utf8)
        }
        let bench = IntakeBench()
        #expect(try bench.take { $0.payload = payload(4096) } != nil)
        #expect(try bench.take { $0.payload = payload(4097) } == nil)
        let voip = PushType.voip.rawValue
        for bytes in [4097, 5120] {
            let batch = try bench.take {
                $0.payload = payload(bytes)
                $0.pushType = voip
            }
            #expect(batch?.records.first?.payload.bytes == bytes)
        }
        let longer = try bench.take {
            $0.payload = payload(5121)
            $0.pushType = voip
        }
        #expect(longer == nil)
        #expect(bench.letters.map { $0.prefix(16) } == ["payload-invalid:", "payload-invalid:"])
    }

    @Test("A collapse id of 1 to 64 bytes is taken as it is; without one there is none")
    func collapseIDs() throws {
        let bench = IntakeBench()
        #expect(try bench.content { _ in }.collapseID.isEmpty)
        for id in ["s", "score of match 7", String(repeating: "x", count: 64), "größe"] {
            #expect(try bench.content { $0.collapseID = id }.collapseID == Array(id.utf8))
        }
    }

    @Test("A collapse id that no header can carry is a dead letter")
    func wrongCollapseIDs() throws {
        let bench = IntakeBench()
        let wrong = [String(repeating: "x", count: 65), " x", "x ", "a\nb", "a\u{0}b", "\u{7F}"]
        for id in wrong { #expect(try bench.take { $0.collapseID = id } == nil) }
        #expect(bench.letters.count == wrong.count)
        #expect(bench.letters.allSatisfy { $0.hasPrefix("collapse-id-invalid: ") })
    }

    @Test("The id of a notification follows from the record's place in Kafka, the request id, token and index")
    func ids() throws {
        let bench = IntakeBench()
        let token = [UInt8](repeating: 1, count: 32)
        for (offset, requestID) in [(7, "a"), (8, "a"), (9, "")] as [(Int64, String)] {
            let content = try bench.content { $0.requestID = requestID }
            let expected = Array(IntakeBench.requests.utf8).withUnsafeBytes { name in
                Array(requestID.utf8).withUnsafeBytes {
                    NotificationIDs(kafkaTopic: name, partition: 3, offset: offset, requestID: $0)
                }
            }
            token.withUnsafeBytes { token in
                for index in 0..<3 as Range<UInt32> {
                    #expect(content.ids.id(token: token, index: index) == expected.id(token: token, index: index))
                }
            }
        }
    }

    @Test("A request that waits to be coalesced keeps its terms and ids")
    func waiting() throws {
        let bench = CoalescingBench {
            let place = HostPort(host: "nowhere", port: 1)
            $0.environments = [EnvironmentSettings(name: "sandbox", gateways: [place], transport: .http2)]
            $0.worker.coalescingWindow = .seconds(2)
        }
        defer { bench.shard.leave() }
        var due: [WaitingRequest] = []
        bench.shard.stages.dueBadges.onReady = { due.append($0) }
        bench.group.cachedEnd = 0
        try bench.bring((1, "score"), (2, "score"))
        bench.wait(milliseconds: 3000)
        let terms = DeliveryTerms.http2(pushType: .alert, priority: .immediate, collapseID: [], isBroadcast: false)
        #expect(due.map(\.terms) == [terms, terms])
        for (offset, request) in due.enumerated() {
            let ids = Array("push.requests".utf8).withUnsafeBytes { name in
                NotificationIDs(
                    kafkaTopic: name,
                    partition: 0,
                    offset: Int64(offset),
                    requestID: UnsafeRawBufferPointer(start: nil, count: 0)
                )
            }
            request.token.withUnsafeBytes { token in
                #expect(request.ids?.id(token: token, index: 0) == ids.id(token: token, index: 0))
            }
        }
    }

    @Test("A payload keeps the priority of its request over the binary interface, or has 5 if it only wakes the app")
    func binary() throws {
        let bench = IntakeBench(.binary)
        let shown = try bench.take { $0.priority = 5 }
        #expect(shown?.records.first?.payload.terms == .binary(.powerSaving))
        #expect(try bench.take { _ in }?.records.first?.payload.terms == .binary(.immediate))
        let wakes = try bench.take { $0.payload = Data(#"{"aps":{"content-available":1}}"#.utf8) }
        #expect(wakes?.records.first?.payload.terms == .binary(.powerSaving))
    }
}
