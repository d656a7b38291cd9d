import PipelineCore
import Testing

/// Feedback tuples that may be applied, and those that must not.
@Suite struct FeedbackTupleRuleTests {
    private static let harvestedAt: UInt32 = 1_700_000_000

    private func judge(
        tokenBytes: Int = 32,
        limitBytes: Int? = nil,
        timestamp: UInt32 = Self.harvestedAt
    ) -> FeedbackTupleRule.Refusal? {
        FeedbackTupleRule.judge(
            tokenBytes: tokenBytes,
            tokenLimitBytes: limitBytes,
            timestamp: timestamp,
            harvestedAt: Int64(Self.harvestedAt)
        )
    }

    @Test(
        "A token has 32 bytes at least, and at most 100 or as many as its environment allows",
        arguments: [
            (31, nil, false), (32, nil, true), (100, nil, true), (101, nil, false), (32, 32, true), (33, 32, false),
            (128, 128, true),
        ] as [(Int, Int?, Bool)]
    )
    func tokenLength(bytes: Int, limit: Int?, isToken: Bool) {
        let expected: FeedbackTupleRule.Refusal? = isToken ? nil : .tokenLength
        #expect(judge(tokenBytes: bytes, limitBytes: limit) == expected)
    }

    @Test("A timestamp before the first day of the service is absurd, that of its first second is not")
    func absurd() {
        #expect(judge(timestamp: 0) == .timestampAbsurd)
        #expect(judge(timestamp: FeedbackTupleRule.firstTimestamp - 1) == .timestampAbsurd)
        #expect(judge(timestamp: FeedbackTupleRule.firstTimestamp) == nil)
    }

    @Test("A timestamp an hour after the harvest is applied, a later one is not")
    func future() {
        #expect(judge(timestamp: Self.harvestedAt + 3600) == nil)
        #expect(judge(timestamp: Self.harvestedAt + 3601) == .timestampInFuture)
    }
}
