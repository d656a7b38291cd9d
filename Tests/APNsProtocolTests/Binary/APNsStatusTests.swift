import APNsProtocol
import Testing

@Suite struct APNsStatusTests {
    @Test("The statuses have the bytes of Apple's table")
    func bytes() {
        let expected: [(APNsStatus, UInt8)] = [
            (.noErrors, 0), (.processingError, 1), (.missingDeviceToken, 2), (.missingTopic, 3), (.missingPayload, 4),
            (.invalidTokenSize, 5), (.invalidTopicSize, 6), (.invalidPayloadSize, 7), (.invalidToken, 8),
            (.shutdown, 10), (.protocolError, 128), (.unknown, 255),
        ]
        for (status, byte) in expected {
            #expect(status.rawValue == byte)
        }
        #expect(APNsStatus.table.map(\.status) == expected.map(\.0))
    }

    @Test("Only shutdown came in 2013 and only protocol error later")
    func since() {
        for entry in APNsStatus.table {
            switch entry.status {
            case .shutdown: #expect(entry.since == .guide2013)
            case .protocolError: #expect(entry.since == .later)
            default: #expect(entry.since == .guide2010)
            }
        }
    }

    @Test("A description has the byte and its meaning, and an undocumented byte says that it is one")
    func descriptions() {
        #expect(APNsStatus.invalidToken.description == "8 (invalid token)")
        #expect(APNsStatus(rawValue: 9).description == "9 (undocumented)")
        #expect(APNsStatus(rawValue: 9).entry == nil)
    }
}
