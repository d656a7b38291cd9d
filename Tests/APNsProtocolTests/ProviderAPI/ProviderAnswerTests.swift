import APNsProtocol
import Testing

@Suite struct ProviderAnswerTests {
    static func answer(_ status: Int, _ body: String) -> ProviderAnswer {
        Array(body.utf8).withUnsafeBytes { ProviderAnswer(status: status, id: nil, body: $0) }
    }

    @Test("A success has no reason, whatever its body says")
    func success() {
        let answer = Self.answer(200, #"{"reason":"Unregistered","timestamp":1}"#)
        #expect(answer.verdict == .accepted)
        #expect(answer.reason == nil && answer.timestampMilliseconds == nil && answer.bodyFault == nil)
    }

    @Test("A death has its time, in milliseconds on the wire, rounded down to seconds")
    func death() {
        let answer = Self.answer(410, #"{"reason":"Unregistered","timestamp":1366709400999}"#)
        #expect(answer.verdict == .tokenDead)
        #expect(answer.timestampMilliseconds == 1_366_709_400_999)
        #expect(answer.deadSinceSeconds == 1_366_709_400)
    }

    @Test("A death without its time is a refusal of the token, and proves nothing by itself")
    func deathWithoutTime() {
        let answer = Self.answer(410, #"{"reason":"Unregistered"}"#)
        #expect(answer.verdict == .tokenRefused)
        #expect(answer.deadSinceSeconds == nil)
    }

    @Test("A time beyond what registrations have is the last one they can have")
    func farTime() {
        #expect(
            Self.answer(410, #"{"reason":"ExpiredToken","timestamp":9223372036854775807}"#).deadSinceSeconds == .max
        )
    }

    @Test("A time that comes with another status does not count")
    func strayTime() {
        let answer = Self.answer(400, #"{"reason":"BadDeviceToken","timestamp":1366709400999}"#)
        #expect(answer.verdict == .tokenRefused)
        #expect(answer.timestampMilliseconds == nil)
    }

    @Test("An unknown reason keeps its text")
    func unknown() {
        let answer = Self.answer(400, #"{"reason":"Something New"}"#)
        #expect(answer.reason?.rawValue == "Something New")
        #expect(answer.verdict == .rejected)
    }

    @Test("An error whose body cannot be read says why, and refuses nothing for good")
    func unreadable() {
        let answer = Self.answer(400, "<html>Bad Request</html>")
        #expect(answer.reason == nil)
        #expect(answer.bodyFault == .malformed(offset: 0))
        #expect(answer.verdict == .backOff)
    }

    @Test("Rejections other than 410 make the service slow a connection down")
    func slowing() {
        let slowing = [200, 400, 403, 410, 413, 429, 500].filter {
            Self.answer($0, #"{"reason":"x"}"#).slowsConnection
        }
        #expect(slowing == [400, 403, 413, 429])
    }
}
