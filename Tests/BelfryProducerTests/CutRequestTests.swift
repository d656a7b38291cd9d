import APNsProtocol
import Foundation
import PushSchemas
import RequestRules
import Testing

@testable import BelfryProducer

@Suite("Requests are cut into records by key")
struct CutRequestTests {
    private func token(_ number: Int, bytes: Int = 32) -> [UInt8] {
        withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) } + [UInt8](repeating: 0xAB, count: bytes - 4)
    }

    private func request(_ fill: (inout PushSendRequest) -> Void) -> PushSendRequest {
        .with {
            $0.requestID = "r"
            $0.payload = Data(#"{"aps":{"alert":"Hi"}}"#.utf8)
            fill(&$0)
        }
    }

    private func bundle(spread: Int = 1, perRecord: Int = 500) -> PushBundle {
        var bundle = PushBundle(id: "com.example.news")
        bundle.spread = spread
        bundle.tokensPerRecord = perRecord
        return bundle
    }

    private func refusal(_ request: PushSendRequest, _ bundle: PushBundle) -> ProducerError? {
        do throws(ProducerError) {
            _ = try CutRequest(request, to: bundle)
            return nil
        } catch {
            return error
        }
    }

    @Test("Every token is in one record of its shard's key, in order; the indices say which", arguments: [1, 4])
    func indices(spread: Int) throws {
        let tokens = (0..<1000).map { token($0) }
        let packed = request { $0.packedTokens = Data(tokens.joined()) }
        let listed = request { $0.tokens = tokens.map { bytes in .with { $0.raw = Data(bytes) } } }
        for request in [packed, listed] {
            let cut = try CutRequest(request, to: bundle(spread: spread, perRecord: 100))
            var seen: [Int] = []
            for record in cut.records {
                #expect((1...100).contains(record.tokens.count) && record.tokens == record.tokens.sorted())
                try record.record.value.withUnsafeBytes { value in
                    let view = try SendRequestView(decoding: value, as: .protobuf)
                    let found = (0..<view.tokenCount).map { Array(view.token(at: $0).bytes) }
                    #expect(found == record.tokens.map { tokens[$0] })
                    #expect(Array(view.requestID) == Array("r".utf8))
                }
                for index in record.tokens {
                    let key = try tokens[index].withUnsafeBytes {
                        try RecordKey(bundleID: "com.example.news", token: $0, spread: UInt32(spread)).description
                    }
                    #expect(record.record.key == key)
                }
                seen += record.tokens
            }
            #expect(seen.sorted() == Array(0..<1000))
        }
    }

    @Test("Values of tokens' own stay with them")
    func overrides() throws {
        let request = request { request in
            request.notification.alert.body = "Hi"
            request.tokens = (0..<3).map { number in
                .with {
                    $0.raw = Data(token(number))
                    if number == 1 { $0.badge = 7 }
                }
            }
        }
        let cut = try CutRequest(request, to: bundle())
        let record = try #require(cut.records.first)
        #expect(cut.records.count == 1 && record.tokens == [0, 1, 2])
        let published = try PushSendRequest(serializedBytes: record.record.value)
        #expect(published.tokens == request.tokens && published.notification == request.notification)
    }

    @Test("A broadcast is one record with the channel")
    func broadcast() throws {
        let request = request { request in
            request.channel = "dHN0"
            request.expiration = 0
            request.priority = 10
        }
        let cut = try CutRequest(request, to: bundle())
        #expect(cut.records.count == 1 && cut.records.first?.tokens == [0])
        let value = try #require(cut.records.first?.record.value)
        #expect(try PushSendRequest(serializedBytes: value) == request)
    }

    @Test("Mistakes are those of the dead letters; tokens are named by their indices in the request")
    func mistakes() throws {
        let wrong = request { request in
            request.tokens = (0..<6).map { number in
                .with { $0.raw = Data(token(number, bytes: number.isMultiple(of: 2) ? 32 : 8)) }
            }
        }
        let error = refusal(wrong, bundle(spread: 3, perRecord: 1))
        let length = RecordRefusal(reason: "token-length", detail: "the token has 8 bytes; allowed: 32...100")
        #expect(error == .refused([RequestFault(length, tokens: [1, 3, 5])]))
        func reason(_ bundle: PushBundle? = nil, _ fill: (inout PushSendRequest) -> Void) -> String? {
            guard case .refused(let faults) = refusal(request(fill), bundle ?? self.bundle()) else { return nil }
            return faults.first?.refusal.reason
        }
        #expect(reason { _ in } == "tokens-missing")
        #expect(reason { $0.packedTokens = Data(repeating: 1, count: 33) } == "packed-tokens-length")
        #expect(reason { $0.tokens = [.with { $0.hex = "0g" }] } == "token-not-hexadecimal")
        let both = reason { request in
            request.channel = "AAAA"
            request.packedTokens = Data(token(1))
        }
        #expect(both == "tokens-ambiguous")
        let payload = reason { request in
            request.payload = Data(#"{"aps":{"badge":5,}}"#.utf8)
            request.packedTokens = Data(token(1))
        }
        #expect(payload == "payload-invalid")
        #expect(reason(PushBundle(id: "a b")) { $0.packedTokens = Data(token(1)) } == "bundle-invalid")
    }

    @Test("An environment with the binary interface has its own limits")
    func binary() {
        var bundle = bundle()
        bundle.interface = .binary(payloadLimitBytes: 256)
        let text = String(repeating: "x", count: 300)
        let long = request { request in
            request.payload = Data(#"{"aps":{"alert":"\#(text)"}}"#.utf8)
            request.packedTokens = Data(token(1))
        }
        #expect(refusal(long, self.bundle()) == nil)
        #expect(refusal(long, bundle)?.description.hasPrefix("payload-invalid: ") == true)
    }

    @Test("Tokens are as long as the gateway takes them")
    func tokenLimit() {
        func isTaken(_ bytes: Int, _ interface: PushBundle.Interface, _ limitBytes: Int? = nil) -> Bool {
            var bundle = bundle()
            bundle.interface = interface
            bundle.tokenLimitBytes = limitBytes
            let one = request { $0.tokens = [.with { $0.raw = Data(token(1, bytes: bytes)) }] }
            return refusal(one, bundle) == nil
        }
        let binary = PushBundle.Interface.binary(payloadLimitBytes: 256)
        #expect(isTaken(100, .http2) && !isTaken(101, .http2) && isTaken(64, .http2, 64) && !isTaken(65, .http2, 64))
        #expect(isTaken(32, binary) && !isTaken(33, binary) && isTaken(64, binary, 64) && !isTaken(65, binary, 64))
    }

    @Test("Records are cut so that each fits into Kafka's limit", arguments: [RecordContentType.protobuf, .json])
    func size(contentType: RecordContentType) throws {
        var plan = RequestBatcher.Plan(bundleID: "com.example.news", content: request { _ in })
        plan.contentType = contentType
        plan.tokensPerRecord = 10_000
        for hasOwn in [false, true] {
            var batcher = try RequestBatcher(plan)
            var records: [OutgoingRecord] = []
            for number in 0..<10_000 {
                // Some lengths take one more byte.
                let bytes = token(number, bytes: 32 + number % 69)
                let message = PushDeviceToken.with {
                    if contentType == .json { $0.hex = Hex.encode(bytes) } else { $0.raw = Data(bytes) }
                    $0.locale = "pt-BR"
                    $0.locArgs = [String(repeating: "x", count: number % 200)]
                }
                try bytes.withUnsafeBytes {
                    try batcher.add($0, as: hasOwn ? message : nil) { records.append($0) }
                }
            }
            try batcher.flush { records.append($0) }
            #expect(records.reduce(0) { $0 + $1.tokenCount } == 10_000)
            #expect(records.allSatisfy { $0.value.count <= RequestValue.limitBytes })
            // No smaller than they must be.
            #expect(records.dropLast().allSatisfy { $0.value.count > RequestValue.limitBytes - 2048 })
            #expect(contentType == .protobuf && !hasOwn || records.count > 1)
        }
    }

    @Test("A request whose content alone is larger than a record is refused")
    func tooLarge() {
        let large = request { request in
            request.payload = Data(#"{"aps":{"alert":"\#(String(repeating: "x", count: 1 << 20))"}}"#.utf8)
            request.packedTokens = Data((0..<3).flatMap { token($0) })
        }
        guard case .refused(let faults) = refusal(large, bundle()) else {
            Issue.record("it was cut")
            return
        }
        #expect(faults.map(\.refusal.reason) == ["value-too-large"])
    }

    @Test("Settings out of their ranges are told with what is allowed")
    func settings() {
        let right = request { $0.packedTokens = Data(token(1)) }
        #expect(refusal(right, bundle(spread: 0)) == .misconfigured("spread: found 0; allowed: 1...65536"))
        #expect(
            refusal(right, bundle(perRecord: 10_001))
                == .misconfigured("tokensPerRecord: found 10001; allowed: 1...10000")
        )
        var wrong = bundle()
        wrong.tokenLimitBytes = 101
        #expect(refusal(right, wrong) == .misconfigured("tokenLimitBytes: found 101; allowed: 32...100"))
        wrong = bundle()
        for bytes in [255, 2049] {
            wrong.interface = .binary(payloadLimitBytes: bytes)
            let words = "payloadLimitBytes: found \(bytes); allowed: 256...2048"
            #expect(refusal(right, wrong) == .misconfigured(words))
        }
    }
}
