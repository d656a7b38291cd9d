import RedisClient
import Testing

/// Expected numbers are those of `CLUSTER KEYSLOT` of a real server.
@Suite struct RedisSlotTests {
    @Test(
        "A key's slot is the one that the server computes",
        arguments: [
            ("", 0), ("foo", 12182), ("{}foo", 9500), ("a{foo", 113), ("123456789", 12739),
            ("{user1000}.following", 3443), ("{user1000}.followers", 3443),
            ("user1000", 3443),
        ]
    )
    func slot(key: String, number: UInt16) {
        #expect(RedisSlot(key: key).number == number)
    }

    @Test("Only what stands between the first { and the next } counts, unless it is nothing or not closed")
    func hashTag() {
        #expect(RedisSlot(key: "a{foo}b{bar}") == RedisSlot(key: "foo"))
        #expect(RedisSlot(key: "{{foo}}") == RedisSlot(key: "{foo"))
        #expect(RedisSlot(key: "{}foo") != RedisSlot(key: "foo"))
        #expect(RedisSlot(key: "a{foo") != RedisSlot(key: "foo"))
    }
}
