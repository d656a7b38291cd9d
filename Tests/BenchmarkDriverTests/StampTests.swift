import APNsProtocol
import BenchmarkCommon
import PushSchemas
import Testing

@Suite("The times in the benchmark's payloads")
struct StampTests {
    private let token: [UInt8] = {
        var token = [UInt8](repeating: 0, count: Int(BENCH_TOKEN_BYTES))
        bench_token(7, &token)
        return token
    }()

    private func record(_ stamp: UInt64) -> [UInt8] {
        var record = [UInt8](repeating: 0, count: Int(BENCH_RECORD_LIMIT_BYTES))
        let count = bench_stamped_record(stamp, token, &record)
        return Array(record[..<count])
    }

    @Test("A record with a time has a payload of the usual size, which tells that time", arguments: [0, 1, .max])
    func record(stamp: UInt64) throws {
        let request = try PushSendRequest(serializedBytes: record(stamp))
        #expect(Array(request.packedTokens) == token)
        #expect(request.payload.count == Int(BENCH_PAYLOAD_BYTES))
        let payload = Array(request.payload)
        var stripped = [UInt8](repeating: 0, count: payload.count)
        let count = try payload.withUnsafeBytes { payload in
            try stripped.withUnsafeMutableBytes { try PayloadScanner.scan(payload, limitBytes: 256, into: $0) }
        }
        #expect(count == payload.count, "nothing to strip")
        var read: UInt64 = 1
        #expect(bench_read_stamp(payload, payload.count, &read))
        #expect(read == stamp)
    }

    @Test("A payload without a time has none")
    func numbered() throws {
        var record = [UInt8](repeating: 0, count: Int(BENCH_RECORD_LIMIT_BYTES))
        let count = bench_record(5, token, &record)
        let payload = Array(try PushSendRequest(serializedBytes: Array(record[..<count])).payload)
        var read: UInt64 = 0
        #expect(!bench_read_stamp(payload, payload.count, &read))
        #expect(!bench_read_stamp(payload, payload.count - 1, &read))
    }

    @Test("The items of a pipeline's frame are read, and those of a cut one are not")
    func items() {
        let payload = Array("{}".utf8)
        var frame = [UInt8](repeating: 0, count: NotificationFrame.command2Bytes(tokenBytes: 32, payloadBytes: 2))
        token.withUnsafeBytes { token in
            payload.withUnsafeBytes { payload in
                frame.withUnsafeMutableBytes {
                    _ = NotificationFrame.encodeCommand2(
                        identifier: 77,
                        token: token,
                        payload: payload,
                        expiration: 0,
                        priority: .immediate,
                        into: $0
                    )
                }
            }
        }
        let items = Array(frame.dropFirst(5))
        items.withUnsafeBufferPointer { items in
            var read = bench_notification()
            #expect(bench_read_items(items.baseAddress, items.count, &read))
            #expect(read.identifier == 77)
            #expect(read.token_bytes == 32)
            #expect(Array(UnsafeBufferPointer(start: read.payload, count: read.payload_bytes)) == payload)
            #expect(!bench_read_items(items.baseAddress, items.count - 1, &read))
        }
    }

    @Test("A sentinel is a frame with an identifier and no token")
    func sentinel() {
        var frame = [UInt8](repeating: 0, count: NotificationFrame.sentinelBytes)
        frame.withUnsafeMutableBytes { _ = NotificationFrame.encodeSentinel(identifier: 9, into: $0) }
        let items = Array(frame.dropFirst(5))
        var read = bench_notification()
        #expect(bench_read_items(items, items.count, &read))
        #expect(read.identifier == 9)
        #expect(read.token_bytes == 0)
    }

    @Test("A quantile of times is that time or at most a 128th more, and never more than the largest")
    func quantiles() {
        // Too large for the stack of a task.
        let histogram = UnsafeMutablePointer<bench_histogram>.allocate(capacity: 1)
        defer { histogram.deallocate() }
        histogram.initialize(to: bench_histogram())
        #expect(bench_histogram_quantile(histogram, 0.5) == 0)
        for time in 1...1000 { bench_histogram_add(histogram, UInt64(time * 1_000_003)) }
        for (quantile, time) in [(0.001, 1.0), (0.5, 500), (0.99, 990), (0.999, 999), (1, 1000)] {
            let read = Double(bench_histogram_quantile(histogram, quantile))
            #expect(read >= time * 1_000_003)
            #expect(read <= time * 1_000_003 * 129 / 128)
        }
        #expect(bench_histogram_quantile(histogram, 1) == 1_000_003_000)
        bench_histogram_add(histogram, .max)
        #expect(bench_histogram_quantile(histogram, 1) == .max)
        #expect(histogram.pointee.count == 1001)
    }
}
