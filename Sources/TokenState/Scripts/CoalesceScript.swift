import RedisClient

/// Windows of coalescing: a device gets at most one notification per coalescing key and window, over all workers.
///
/// The value is three decimal numbers with blanks between: the opening time of the window (UNIX milliseconds; 0: none
/// is open), and the stamp (UNIX milliseconds, offset) of the last notification sent (-1 -1: none). It is kept for two
/// windows.
package enum CoalesceScript {
    /// The largest number that is exact in the script.
    package static let largestNumber: Int64 = 1 << 53 - 1

    /// KEYS[1] a ``FingerprintKey``; ARGV: now (UNIX milliseconds), the window (milliseconds), the request's stamp
    /// (UNIX milliseconds, offset), and 1 if it is to be sent, 0 if it has arrived.
    ///
    /// Returns the milliseconds that the request waits; 0: it is to be sent now; -1: a newer one was sent, so it is
    /// not. A request that has arrived opens a window if none is open, and never gets -1. One that is to be sent ends
    /// its window. Idempotent: a repeated question about a request that was sent gets 0 again, because the worker does
    /// not know whether it was sent.
    package static let coalesce = RedisScript(
        """
        local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
        local at, offset = tonumber(ARGV[3]), tonumber(ARGV[4])
        local isDue = ARGV[5] == '1'
        local opened, sentAt, sentOffset = 0, -1, -1
        local value = redis.call('GET', KEYS[1])
        if value then
          local first, second, third = string.match(value, '^(%d+) (-?%d+) (-?%d+)$')
          if not first then
            return redis.error_reply('BELFRY a coalescing window of another form is not known here')
          end
          opened, sentAt, sentOffset = tonumber(first), tonumber(second), tonumber(third)
        end
        local function write()
          local text = string.format('%.0f %.0f %.0f', opened, sentAt, sentOffset)
          redis.call('SET', KEYS[1], text, 'PX', math.max(1, 2 * window))
        end
        if at == sentAt and offset == sentOffset then
          return 0
        end
        if at < sentAt or (at == sentAt and offset < sentOffset) then
          return isDue and -1 or 0
        end
        if opened == 0 and (value or not isDue) then
          opened = now
          write()
          return window
        end
        if opened > 0 then
          local rest = math.min(window, opened + window - now)
          if rest > 0 then
            return rest
          end
        end
        if isDue then
          opened, sentAt, sentOffset = 0, at, offset
          write()
        end
        return 0
        """
    )
}
