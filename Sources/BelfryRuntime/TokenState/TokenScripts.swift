/// The rules that change a token's state, as Lua so that each is one atomic step on the server.
///
/// Both timestamps only ever move forward, so late, repeated and reordered messages lead to the same state.
enum TokenScripts {
    /// KEYS[1] the token's key; ARGV: registered at, locale, time zone. Moves the registration forward only; clears an
    /// older tombstone, keeps a newer one. Returns 1 if the token lives afterwards, else 0.
    static let register =
        common + """
            local at = tonumber(ARGV[1])
            local texts = text(ARGV[2]) .. text(ARGV[3])
            if at > registered or (at == registered and texts > rest) then
              registered = at
              rest = texts
            end
            if tombstoned <= registered then
              tombstoned = 0
              reason = 0
            end
            write()
            return tombstoned == 0 and 1 or 0
            """

    /// KEYS[1] the token's key; ARGV: tombstoned at, reason. Written only if the last registration is older (same second:
    /// the token lives). Returns 1 if the token is dead by this afterwards, 0 if it lives.
    static let tombstone =
        common + """
            local at = tonumber(ARGV[1])
            if at <= registered then
              return 0
            end
            if at > tombstoned or (at == tombstoned and tonumber(ARGV[2]) < reason) then
              tombstoned = at
              reason = tonumber(ARGV[2])
              write()
            end
            return 1
            """

    private static let common = """
        local registered, tombstoned, reason, rest = 0, 0, 0, string.char(0, 0)
        local value = redis.call('GET', KEYS[1])
        if value then
          local version, next
          version, reason, registered, tombstoned, next = struct.unpack('<BBI4I4', value)
          if version ~= 1 then
            return redis.error_reply('BELFRY token state of version ' .. version .. ' is not known here')
          end
          rest = string.sub(value, next)
        end
        local function text(value)
          value = string.sub(value, 1, 64)
          return string.char(#value) .. value
        end
        local function write()
          redis.call('SET', KEYS[1], struct.pack('<BBI4I4', 1, reason, registered, tombstoned) .. rest)
        end

        """
}
