import APNsProtocol
import Testing

@testable import Sandbox

/// `--count-titles`.
struct TitleCountTests {
    private static func payload(_ aps: String) -> [UInt8] {
        Array(#"{"aps":{\#(aps)},"n":1}"#.utf8)
    }

    private static func counts(_ payloads: [UInt8]...) -> [String: Int] {
        var titles = TitleCounts(isCounting: true)
        for payload in payloads { payload.withUnsafeBytes { titles.count($0) } }
        return titles.counts
    }

    private static func ledger(countsTitles: Bool) -> DeviceLedger {
        var settings = DeviceLedger.Settings()
        settings.countsTitles = countsTitles
        return DeviceLedger(devices: 10, settings: settings)
    }

    @Test("Notifications are counted by the title of their alert")
    func titles() {
        let german = Self.payload(#""alert":{"title":"Ausgabe","body":"1"},"badge":1"#)
        let portuguese = Self.payload(#""alert":{"body":"2","title":"Edi\u00e7ão"}"#)
        #expect(Self.counts(german, portuguese, german) == ["Ausgabe": 2, "Edição": 1])
    }

    @Test("A payload without a title of its alert is in no count")
    func none() {
        let elsewhere = Array(#"{"aps":{"alert":{"body":"1"}},"title":"none"}"#.utf8)
        let text = Self.payload(#""alert":"a \"title\"""#)
        #expect(Self.counts(elsewhere, text, Array(#"{"aps":{"alert":{"title":"#.utf8), []) == [:])
    }

    @Test("Beyond the limit no new title is counted, and the known ones still are")
    func limit() {
        var titles = TitleCounts(isCounting: true)
        for number in [Int](0...TitleCounts.limit) + [0] {
            Self.payload(#""alert":{"title":"\#(number)"}"#).withUnsafeBytes { titles.count($0) }
        }
        #expect(titles.counts.count == TitleCounts.limit)
        #expect(titles.counts["0"] == 2 && titles.counts["\(TitleCounts.limit)"] == nil)
    }

    @Test("Acceptances over both interfaces count, refusals do not")
    func acceptances() {
        let payload = Self.payload(#""alert":{"title":"Edition"}"#)
        let fixture = TopicFixture()
        fixture.ledger = Self.ledger(countsTitles: true)
        #expect(fixture.accept(device: 1, payload: payload))
        payload.withUnsafeBytes { bytes in
            let notification = RoutedNotification(expiration: 0, priority: .immediate, payload: bytes)
            #expect(fixture.ledger.accept(notification, for: AppInstance(device: 2), now: TopicFixture.now) == nil)
            #expect(fixture.ledger.accept(notification, for: AppInstance(device: 10), now: TopicFixture.now) != nil)
        }
        #expect(fixture.ledger.titles.counts == ["Edition": 2])
        #expect(StatsDocument.Topic(fixture.ledger).titles == ["Edition": 2])
    }

    @Test("Unless they are asked for, titles are neither counted nor told")
    func silence() {
        let fixture = TopicFixture()
        fixture.ledger = Self.ledger(countsTitles: false)
        #expect(fixture.accept(device: 1, payload: Self.payload(#""alert":{"title":"Edition"}"#)))
        #expect(fixture.ledger.titles.counts == [:])
        #expect(StatsDocument.Topic(fixture.ledger).titles == nil)
    }
}
