import LocalPipeline
import PushSchemas
import SwiftProtobuf
import Testing

@testable import belfry_bench

@Suite("The records of the isolation benchmark")
struct IsolationRecordTests {
    private func writer(_ sickness: Sickness) -> RequestWriter {
        RequestWriter(
            bundleID: "com.example.sick",
            environment: "sick",
            partitions: 3,
            devicesPerPartition: 2000,
            tokensPerRecord: sickness.tokensPerRecord,
            kind: { sickness.kind(of: $0, over: .binary) }
        )
    }

    private func request(_ writer: RequestWriter, partition: Int, place: Int) throws -> (PushSendRequest, [UInt8]) {
        var value: [UInt8] = [1, 2, 3]
        writer.write(77, partition: partition, place: place, into: &value)
        return (try PushSendRequest(serializedBytes: value), value)
    }

    @Test("A record is a request of its environment, with its number and the tokens of neighbouring devices")
    func packed() throws {
        let writer = writer(.invalidSome)
        let (request, value) = try request(writer, partition: 2, place: 100)
        #expect(request.environment == "sick")
        #expect(Array(request.payloadJson.utf8).withUnsafeBytes { NumberedPayload.read($0) } == 77)
        #expect(request.packedTokens.count == 100 * DeviceToken.bytes)
        #expect(writer.valueBytes == value.count)
        #expect(writer.keys[2] == Array("com.example.sick#2".utf8))
        for index in 0..<100 {
            let token = Array(request.packedTokens.dropFirst(index * DeviceToken.bytes).prefix(DeviceToken.bytes))
            let read = token.withUnsafeBytes { DeviceToken.read($0) }
            #expect(read?.device == UInt32(2 * 2000 + 100 + index))
            #expect(read?.kind == (index % 5 == 0 ? .invalid : .good))
        }
    }

    @Test("Bad tokens are a thousand a record, each of a length that no token has")
    func malformed() throws {
        let (request, _) = try request(writer(.badTokens), partition: 1, place: 1000)
        #expect(request.tokens.count == 1000)
        #expect(request.tokens.allSatisfy { $0.raw.count == DeviceToken.malformedBytes })
        #expect(Set(request.tokens.map(\.raw)).count == 1000)
    }

    @Test("Each sickness has its share of bad tokens")
    func shares() {
        func share(_ kind: TokenKind, _ sickness: Sickness, _ transport: PipelineTransport = .binary) -> Int {
            (0..<1000).count { sickness.kind(of: $0, over: transport) == kind }
        }
        #expect(share(.invalid, .invalidAll) == 1000)
        #expect(share(.invalid, .invalidSome) == 200)
        #expect(share(.poison, .poisoned) == 10)
        #expect(share(.malformed, .badTokens) == 1000)
        for sickness in [Sickness.certificateRefused, .certificateMissing, .unreachable, .halfDead, .slow] {
            #expect(share(.good, sickness) == 1000)
        }
        // A connection with a provider key shows no certificate that could be refused.
        #expect(share(.forbidden, .certificateRefused, .http2) == 1000)
        for sickness in Sickness.allCases where sickness != .certificateRefused {
            let kinds = { (transport: PipelineTransport) in
                (0..<1000).map { sickness.kind(of: $0, over: transport) }
            }
            #expect(kinds(.http2) == kinds(.binary), "\(sickness)")
        }
    }
}
