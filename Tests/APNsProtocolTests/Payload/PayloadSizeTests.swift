import APNsProtocol
import Testing

@Suite struct PayloadSizeTests {
    /// A payload of exactly this many bytes, at least 25.
    private func payload(bytes: Int) -> [UInt8] {
        let frame = #"{"aps":{"alert":""}}"#
        let alert = String(repeating: "x", count: bytes - frame.utf8.count)
        return [UInt8](#"{"aps":{"alert":"\#(alert)"}}"#.utf8)
    }

    @Test("The limits are those of the transports")
    func limits() {
        #expect(PayloadLimit.binary2013 == 256)
        #expect(PayloadLimit.binaryIOS8 == 2048)
        #expect(PayloadLimit.http2 == 4096)
    }

    @Test("A payload of exactly the limit passes, one byte more does not", arguments: [256, 2048, 4096, 5120])
    func atTheLimit(limit: Int) {
        #expect(PayloadAcceptTests.scan(payload(bytes: limit), limitBytes: limit) == .success(payload(bytes: limit)))
        let error = PayloadError(rule: .tooLarge(strippedBytes: limit + 1, limitBytes: limit), offset: limit)
        #expect(PayloadAcceptTests.scan(payload(bytes: limit + 1), limitBytes: limit) == .failure(error))
    }

    @Test("The size is judged without white space")
    func strippedSize() {
        let tight = payload(bytes: 256)
        let loose = [UInt8](repeating: 0x20, count: 500) + tight + [UInt8](repeating: 0x0A, count: 500)
        #expect(PayloadAcceptTests.scan(loose, limitBytes: 256) == .success(tight))
    }

    @Test("The offset of an oversized payload is the first kept byte over the limit, in the payload as it came")
    func overLimitOffset() {
        let payload = [UInt8](#"  {"aps" : {} , "x" : 12345}"#.utf8)
        for limit in 0..<20 {
            let kept = payload.indices.filter { payload[$0] != 0x20 }
            let error = PayloadError(rule: .tooLarge(strippedBytes: 20, limitBytes: limit), offset: kept[limit])
            #expect(PayloadAcceptTests.scan(payload, limitBytes: limit) == .failure(error))
        }
        #expect((try? PayloadAcceptTests.scan(payload, limitBytes: 20).get()) != nil)
    }

    @Test("White space is stripped between tokens, of all four kinds, and kept inside strings")
    func whiteSpace() {
        let tokens = ["{", #""aps""#, ":", "{", #""a b""#, ":", "[", "1", ",", #"" \t ""#, "]", "}", ",", #""x""#, ":"]
        let all = tokens + ["true", "}"]
        let tight = [UInt8](all.joined().utf8)
        for space in [" ", "\t", "\n", "\r", " \r\n\t  "] {
            let loose = space + all.joined(separator: space) + space
            #expect(PayloadAcceptTests.scan([UInt8](loose.utf8)) == .success(tight))
        }
    }

    @Test("The output may be the memory of the input")
    func inPlace() throws {
        let loose = [UInt8](#"  { "aps" : { "alert" : "a  b" , "badge" : 1 } , "x" : [ 1 , 2 ] }  "#.utf8)
        let tight = #"{"aps":{"alert":"a  b","badge":1},"x":[1,2]}"#
        var buffer = loose
        let count = try buffer.withUnsafeMutableBytes {
            try PayloadScanner.scan(UnsafeRawBufferPointer($0), limitBytes: 256, into: $0)
        }
        #expect(String(decoding: buffer.prefix(count), as: UTF8.self) == tight)
    }

    @Test("An output shorter than the input traps instead of being overrun")
    func shortOutput() async {
        await #expect(processExitsWith: .failure) {
            let input = [UInt8](#"{"aps":{}}"#.utf8)
            var output = [UInt8](repeating: 0, count: input.count - 1)
            _ = input.withUnsafeBytes { input in
                output.withUnsafeMutableBytes { try? PayloadScanner.scan(input, limitBytes: 256, into: $0) }
            }
        }
    }
}
