import APNsProtocol
import BenchmarkCommon
import Foundation
import PushSchemas
import Testing

@testable import TokenState

@Suite("The benchmark's hand-written layouts")
struct LayoutTests {
    private let token: [UInt8] = {
        var token = [UInt8](repeating: 0, count: BENCH_TOKEN_BYTES)
        bench_token(7, &token)
        return token
    }()

    private func record(_ number: UInt64) -> [UInt8] {
        var record = [UInt8](repeating: 0, count: BENCH_RECORD_LIMIT_BYTES)
        let count = bench_record(number, token, &record)
        return Array(record[..<count])
    }

    @Test("Its CRC-32 is the pipeline's, whatever the length", arguments: [0, 1, 7, 8, 9, 32, 100])
    func checksum(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        #expect(bench_crc32(bytes, bytes.count) == bytes.withUnsafeBytes { CRC32.checksum($0) })
    }

    @Test("A token lies where the pipeline looks for it")
    func place() throws {
        let layout = try #require(TokenLayout(text: BENCH_RULE))
        #expect(TokenLayout.name == Array(BENCH_RULE_KEY.utf8))
        let keys = TokenKeys(environment: "sandbox", bundleID: "com.example")
        for index in 0..<100 {
            var token = [UInt8](repeating: 0, count: BENCH_TOKEN_BYTES)
            bench_token(UInt64(index), &token)
            var key = [UInt8](repeating: 0, count: BENCH_KEY_LIMIT_BYTES)
            var field = [UInt8](repeating: 0, count: BENCH_FIELD_BYTES)
            let prefix = bench_state_key_prefix("sandbox", "com.example", &key)
            let count = bench_state_key(&key, prefix, token, &field)
            let place = layout.place(of: token)
            let bucket = TokenBuckets.index(hash: place.hash, count: BENCH_BUCKETS)
            #expect(Array(key[..<count]) == keys.bucket(bucket, tag: place.tag))
            #expect(field == layout.field(of: token))
            let length = bench_directory_key("sandbox", "com.example", UInt32(place.tag), &key)
            #expect(Array(key[..<length]) == keys.directory(tag: place.tag))
        }
    }

    @Test("A record is a SendRequest of one packed token and a payload of 110 bytes", arguments: [0, 1, 12_345_678])
    func request(number: UInt64) throws {
        let request = try PushSendRequest(serializedBytes: record(number))
        #expect(Array(request.packedTokens) == token)
        #expect(request.payload.count == 110)
        var stripped = [UInt8](repeating: 0, count: request.payload.count)
        let count = try Array(request.payload).withUnsafeBytes { payload in
            try stripped.withUnsafeMutableBytes { try PayloadScanner.scan(payload, limitBytes: 256, into: $0) }
        }
        #expect(count == 110, "nothing to strip")
    }

    @Test("A request id may stand before a record, and changes nothing else of it", arguments: [0, 12_345_678])
    func requestID(number: UInt64) throws {
        var field = [UInt8](repeating: 0, count: BENCH_REQUEST_ID_FIELD_BYTES)
        #expect(bench_request_id(number, &field) == BENCH_REQUEST_ID_FIELD_BYTES)
        let bytes = field + record(number)
        var expected = try PushSendRequest(serializedBytes: record(number))
        expected.requestID = "5f0d7c1e-3b52-4b7a-8c11-" + (number == 0 ? "000000000000" : "000000bc614e")
        #expect(try PushSendRequest(serializedBytes: bytes) == expected)
        var request = bench_request()
        #expect(bytes.withUnsafeBufferPointer { bench_read_record($0.baseAddress, $0.count, &request) })
    }

    @Test("A record may have several tokens of 32 bytes, and no other number of bytes")
    func manyTokens() throws {
        var message = try PushSendRequest(serializedBytes: record(1))
        for (count, isRead) in [(0, false), (31, false), (32, true), (64, true), (65, false)] {
            message.packedTokens = Data(repeating: 7, count: count)
            let bytes: [UInt8] = try message.serializedBytes()
            bytes.withUnsafeBufferPointer {
                var request = bench_request()
                #expect(bench_read_record($0.baseAddress, $0.count, &request) == isRead)
                if isRead { #expect(request.tokens == count / 32) }
            }
        }
    }

    @Test("A frame is what the gateway takes: identifier, token and payload of the record")
    func frame() {
        let record = record(3)
        record.withUnsafeBufferPointer { bytes in
            var request = bench_request()
            #expect(bench_read_record(bytes.baseAddress, bytes.count, &request))
            var frame = [UInt8](repeating: 0, count: BENCH_FRAME_LIMIT_BYTES)
            let count = bench_frame(&request, 77, &frame)
            var decoder = GatewayFrameDecoder(limits: GatewayLimits())
            var seen = 0
            let outcome = frame[..<count].withUnsafeBytes { frame in
                decoder.decode(frame) { notification in
                    seen += 1
                    #expect(notification.identifier == 77)
                    #expect(Array(notification.token) == token)
                    #expect(notification.payload.count == 110)
                    #expect(notification.priority == .immediate)
                    return nil
                }
            }
            #expect(seen == 1)
            #expect(outcome == .needMore)
        }
    }

    @Test("A token may be sent to unless its tombstone is newer than its registration")
    func state() {
        var state = [UInt8](repeating: 0, count: BENCH_STATE_BYTES)
        bench_state(1000, &state)
        #expect(bench_state_allows(state, state.count))
        state[0] = 1
        state += [232, 3, 0, 0, 1]
        #expect(bench_state_allows(state, state.count), "the same second: the token lives")
        state[5] = 233
        #expect(!bench_state_allows(state, state.count))
        #expect(bench_state_allows(nil, 0), "nothing is known of it")
    }

    @Test("A token's locale is found where the pipeline looks for it", arguments: ["", "de", "pt-BR"])
    func locale(text: String) {
        var state = [UInt8](repeating: 0, count: BENCH_STATE_LIMIT_BYTES)
        let count = bench_state_with_locale(1000, text, &state)
        state[..<count].withUnsafeBytes { state in
            #expect(TokenRecord.locale(state).map { String(decoding: $0, as: UTF8.self) } ?? "" == text)
            #expect(TokenRecord.registeredAt(state) == 1000)
            #expect(TokenRecord.reasonOfDeath(state, for: .app) == nil)
        }
    }
}
