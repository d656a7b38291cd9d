import Testing

@testable import PipelineCore

/// The judgement of refused topics: the request's fault, or the credential's.
@Suite struct TopicRefusalsTests {
    private static let voip = ".voip"

    private var refusals = TopicRefusals()

    /// Refuses a notification of a record of its own.
    private mutating func refuse(_ record: UInt32, _ suffix: String = "") -> TopicRefusals.Judgement {
        let reference = NotificationReference(assignment: 1, record: record, token: 0)
        return refusals.refused(suffix, reference, checksum: 7)
    }

    // MARK: Of everything

    @Test("The twentieth notification in a row stops the app, and from then on none is rejected")
    mutating func run() {
        for record in 1..<20 as Range<UInt32> { #expect(refuse(record) == .goesAgain) }
        #expect(refusals.refusedSuffixes.isEmpty)
        for record in [20, 1, 21, 1, 1, 1, 1] as [UInt32] { #expect(refuse(record) == .doesNotWork) }
        #expect(refusals.refusedSuffixes == [""])
    }

    @Test("Notifications of one token, and of one record, count one each")
    mutating func sameToken() {
        for token in 0..<19 as Range<UInt32> {
            let reference = NotificationReference(assignment: 1, record: 1, token: token)
            #expect(refusals.refused("", reference, checksum: token) == .goesAgain)
        }
        #expect(refuse(2) == .doesNotWork)
    }

    @Test("An acceptance ends the row")
    mutating func accepted() {
        for record in 1..<20 as Range<UInt32> { _ = refuse(record) }
        refusals.accepted("")
        for record in 21..<40 as Range<UInt32> { #expect(refuse(record) == .goesAgain) }
        #expect(refuse(40) == .doesNotWork)
    }

    @Test("Each topic has a row of its own")
    mutating func ownRows() {
        for record in 1..<20 as Range<UInt32> {
            #expect(refuse(record) == .goesAgain)
            #expect(refuse(record + 100, Self.voip) == .goesAgain)
        }
        #expect(refuse(120, Self.voip) == .doesNotWork)
        #expect(refusals.refusedSuffixes == [Self.voip])
    }

    // MARK: Of a request

    @Test("A notification that is refused alone is rejected after five attempts, which is news once")
    mutating func alone() {
        for record in 1...2 as ClosedRange<UInt32> {
            for _ in 1..<5 { #expect(refuse(record) == .goesAgain) }
            #expect(refuse(record) == .rejected(isNews: record == 1))
        }
    }

    @Test("Fewer than twenty are rejected before the app stops, however slowly they come")
    mutating func bound() {
        var rejected = 0
        for record in 1...100 as ClosedRange<UInt32> {
            for _ in 1...5 { if case .rejected = refuse(record) { rejected += 1 } }
        }
        #expect(rejected == 19)
    }

    @Test("A topic that was never accepted is rejected at once where another is accepted, and stops nothing")
    mutating func foreignTopic() {
        refusals.accepted("")
        for record in 1...50 as ClosedRange<UInt32> {
            #expect(refuse(record, Self.voip) == .rejected(isNews: record == 1))
        }
    }

    @Test("A topic that was accepted before is only rejected once another is accepted after its refusal")
    mutating func lostTopic() {
        refusals.accepted(Self.voip)
        refusals.accepted("")
        #expect(refuse(1, Self.voip) == .goesAgain)
        refusals.accepted("")
        #expect(refuse(1, Self.voip) == .rejected(isNews: true))
    }

    @Test("A topic with another credential decides nothing about the bundle ID")
    mutating func foreignJudge() {
        refusals.accepted("")
        for record in 1..<20 as Range<UInt32> {
            refusals.accepted(Self.voip)
            let reference = NotificationReference(assignment: 1, record: record, token: 0)
            #expect(refusals.refused("", reference, checksum: 7, judges: []) == .goesAgain)
            #expect(refusals.refused("", reference, checksum: 7, judges: ["other"]) == .goesAgain)
        }
        #expect(refuse(19) == .rejected(isNews: true))
    }

    @Test("Another topic decides nothing while it is refused itself")
    mutating func bothRefused() {
        refusals.accepted(Self.voip)
        refusals.accepted("")
        #expect(refuse(1) == .goesAgain)
        #expect(refuse(2, Self.voip) == .goesAgain)
        refusals.accepted("")
        #expect(refuse(2, Self.voip) == .rejected(isNews: true))
        #expect(refuse(3) == .goesAgain)
        #expect(refuse(2, Self.voip) == .goesAgain)
    }

    @Test("An app that stopped for one topic goes on without it once another is accepted")
    mutating func wayOut() {
        for record in 1...20 as ClosedRange<UInt32> { _ = refuse(record, Self.voip) }
        #expect(refuse(1, Self.voip) == .doesNotWork)
        refusals.accepted("")
        #expect(refuse(1, Self.voip) == .rejected(isNews: true))
    }

    // MARK: The credential

    @Test("With another credential the row begins anew, and former acceptances decide nothing")
    mutating func otherCredential() {
        refusals.accepted("")
        for record in 1...10 as ClosedRange<UInt32> { _ = refuse(record) }
        refusals.changeCredential()
        for record in 11..<30 as Range<UInt32> { #expect(refuse(record) == .goesAgain) }
        #expect(refuse(1, Self.voip) == .goesAgain)
        #expect(refuse(30) == .doesNotWork)
    }

    @Test("The first refusal of another credential keeps an app stopped")
    mutating func refusedAgain() {
        for record in 1...20 as ClosedRange<UInt32> { _ = refuse(record) }
        refusals.changeCredential()
        #expect(refuse(21) == .doesNotWork)
        refusals.accepted("")
        #expect(refuse(22) == .goesAgain)
    }

    @Test("Another credential is probed at once, if the former was to blame", arguments: AppHealth.Reason.allCases)
    func probe(reason: AppHealth.Reason) {
        let now = MonotonicTime(nanoseconds: 0)
        var health = AppHealth(limits: .forTests())
        health.failed(reason, now: now, random: .max)
        health.credentialChanged(now: now)
        let isProbed = health.beginProbe(shard: 0, now: now, random: 0)
        #expect(isProbed == [.certificateRefused, .topicRefused, .teamRefused].contains(reason))
    }
}
