import APNsProtocol
import TestSupport
import Testing

@Suite struct NotificationIDTests {
    @Test("A UUID is read in either case and written in both")
    func cases() throws {
        let text = "123e4567-e89b-42d3-a456-426614174000"
        let id = try #require(NotificationID(text))
        #expect(id == NotificationID(high: 0x123E_4567_E89B_42D3, low: 0xA456_4266_1417_4000))
        #expect(NotificationID(text.uppercased()) == id)
        #expect(id.description == text)
        #expect(id.text(isUpperCase: true) == text.uppercased())
    }

    @Test("Every id comes back from its text")
    func roundTrip() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<1000 {
            let id = NotificationID(high: random.next(), low: random.next())
            #expect(NotificationID(id.text()) == id)
            #expect(NotificationID(id.text(isUpperCase: true)) == id)
        }
    }

    @Test(
        "Anything else is no id",
        arguments: [
            "", "123e4567e89b42d3a456426614174000", "123e4567-e89b-42d3-a456-42661417400",
            "123e4567-e89b-42d3-a456-4266141740000", "{123e4567-e89b-42d3-a456-426614174000}",
            "123e4567-e89b-42d3-a456_426614174000", "123e4567-e89b-42d3-a4564-26614174000",
            "123e4567-e89b-42d3-a456-42661417400g", "-23e4567-e89b-42d3-a456-426614174000",
            " 23e4567-e89b-42d3-a456-426614174000",
        ]
    )
    func refused(text: String) {
        #expect(NotificationID(text) == nil)
    }

    @Test("An id from a digest is a UUID of version 8, and keeps all other bits")
    func version() {
        #expect(NotificationID(digestHigh: 0, low: 0).text() == "00000000-0000-8000-8000-000000000000")
        #expect(NotificationID(digestHigh: .max, low: .max).text() == "ffffffff-ffff-8fff-bfff-ffffffffffff")
    }
}
