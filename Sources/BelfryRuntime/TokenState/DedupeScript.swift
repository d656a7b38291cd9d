import RedisClient

/// Remembers requests that have arrived.
enum DedupeScript {
    /// KEYS: any number of ``DedupeKey``; ARGV: milliseconds for which they are kept. Idempotent, but that the time begins anew.
    static let remember = RedisScript(
        """
        for index = 1, #KEYS do
          redis.call('SET', KEYS[index], '1', 'PX', ARGV[1])
        end
        return #KEYS
        """
    )
}
