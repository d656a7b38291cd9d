import APNsProtocol
import BelfrySupport
import Foundation
import Logging
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
    private static let background = Data(#"{"aps":{"content-available":1}}"#.utf8)

    // MARK: Push types

    @Test("The push type is the one that the request names, or inferred from its payload")
    func pushTypes() throws {
        let bench = IntakeBench()
        #expect(try bench.content { _ in }.pushType == .alert)
        #expect(try bench.content { $0.payload = Self.background }.pushType == .background)
        for pushType in PushType.allCases {
            let content = try bench.content {
                $0.pushType = pushType.rawValue
                if pushType == .mdm { $0.payload = Data(#"{"mdm":"1"}"#.utf8) }
            }
            #expect(content.pushType == pushType)
        }
    }

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

    // MARK: Priorities

    @Test("Without a priority the push type's default holds")
    func defaultPriority() throws {
        let bench = IntakeBench()
        #expect(try bench.content { _ in }.priority == .immediate)
        #expect(try bench.content { $0.pushType = "background" }.priority == .powerSaving)
        #expect(try bench.content { $0.payload = Self.background }.priority == .powerSaving)
    }

    @Test("A priority that the named push type does not allow is a dead letter that says which are")
    func priorityOfNamedType() throws {
        let bench = IntakeBench()
        for (pushType, priority) in [("background", 10), ("background", 1), ("alert", 1)] as [(String, UInt32)] {
            let batch = try bench.take {
                $0.pushType = pushType
                $0.priority = priority
            }
            #expect(batch == nil)
        }
        #expect(
            bench.letters == [
                "priority-invalid: 'priority' is 10; allowed for the push type background: 5",
                "priority-invalid: 'priority' is 1; allowed for the push type background: 5",
                "priority-invalid: 'priority' is 1; allowed for the push type alert: 10, 5",
            ]
        )
        for (number, priority) in [(10, .immediate), (5, .powerSaving), (1, .neverWaking)]
            as [(UInt32, ProviderPriority)]
        {
            let content = try bench.content {
                $0.pushType = "widgets"
                $0.priority = number
            }
            #expect(content.priority == priority)
        }
    }

    @Test("To an inferred push type the priority is fitted")
    func priorityOfInferredType() throws {
        let bench = IntakeBench()
        let content = try bench.content {
            $0.payload = Self.background
            $0.priority = 10
        }
        #expect(content.pushType == .background && content.priority == .powerSaving)
        #expect(try bench.content { $0.priority = 1 }.priority == .powerSaving)
        #expect(try bench.content { $0.priority = 10 }.priority == .immediate)
    }

    // MARK: Collapse ids

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

    // MARK: Ids

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

    // MARK: The binary interface

    @Test("Over the binary interface push type and collapse id mean nothing, whatever they say")
    func binary() throws {
        let bench = IntakeBench(.binary)
        let batch = try bench.take {
            $0.pushType = "nonsense"
            $0.collapseID = " x"
            $0.priority = 5
        }
        let record = try #require(batch?.records.first)
        #expect(record.payload.terms == .binary(.powerSaving) && record.ids == nil)
        #expect(try bench.take { _ in }?.records.first?.payload.terms == .binary(.immediate))
        #expect(bench.letters.isEmpty)
    }

    @Test("Over the binary interface a payload that only wakes the app goes with priority 5, whatever is said")
    func binaryBackground() throws {
        let bench = IntakeBench(.binary)
        for number in [0, 5, 10] as [UInt32] {
            let batch = try bench.take {
                $0.payload = Self.background
                $0.priority = number
            }
            #expect(batch?.records.first?.payload.terms == .binary(.powerSaving))
        }
        #expect(bench.letters.isEmpty)
    }

    @Test("Over the binary interface the priority 1 is a dead letter")
    func binaryPriority() throws {
        let bench = IntakeBench(.binary)
        #expect(try bench.take { $0.priority = 1 } == nil)
        #expect(
            bench.letters == ["priority-invalid: 'priority' is 1; allowed over the binary interface: 10, 5"]
        )
    }
}
