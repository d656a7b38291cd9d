import RedisClient

/// Badges: the number on the icon of a token's app, as the last changes have left it.
///
/// The value is a version (1 byte, 1), a number (4 bytes), and for each of the last changes its mark (12 bytes), kind
/// (1 byte; 1: set, 2: add) and number (4 bytes, with a sign if added), all little-endian; see ``BadgeRecord``. The
/// badge is the number after all changes, in order. A change that would be one too many makes the oldest part of the
/// number: it can neither be recognised nor taken back any more.
///
/// The scripts name one key only, so that they run even while a Redis Cluster moves its slot.
package enum BadgeScript {
    /// Most changes that are kept.
    package static let limit = 16
    /// Seconds from the last change until the number is forgotten: 400 days.
    package static let lifetimeSeconds = 400 * 86_400

    /// KEYS[1] a ``FingerprintKey``; ARGV: mark, kind, number. Makes a change, unless one with that mark is kept.
    /// Returns the number afterwards. Idempotent as long as the change is kept.
    package static let change = RedisScript(
        prelude + """
            for _, entry in ipairs(entries) do
              if string.sub(entry, 1, 12) == ARGV[1] then return write() end
            end
            local kind, number = tonumber(ARGV[2]), tonumber(ARGV[3])
            entries[#entries + 1] = ARGV[1] .. struct.pack(kind == 2 and '<Bi4' or '<BI4', kind, number)
            if #entries > \(limit) then base = apply(base, table.remove(entries, 1)) end
            return write()
            """
    )

    /// KEYS[1] a ``FingerprintKey``; ARGV: mark. Takes the change with that mark back, if it is kept; later ones stand.
    /// Returns the number afterwards. Idempotent.
    package static let takeBack = RedisScript(
        prelude + """
            if not value then return 0 end
            for place, entry in ipairs(entries) do
              if string.sub(entry, 1, 12) == ARGV[1] then
                table.remove(entries, place)
                break
              end
            end
            if base == 0 and #entries == 0 then
              redis.call('DEL', KEYS[1])
              return 0
            end
            return write()
            """
    )

    /// Reads the value, and defines how it is changed and written.
    private static let prelude = """
        local value = redis.call('GET', KEYS[1])
        local base, entries = 0, {}
        if value then
          if string.byte(value, 1) ~= 1 or #value < 5 or (#value - 5) % 17 ~= 0 then
            return redis.error_reply('BELFRY a badge of another form is not known here')
          end
          base = struct.unpack('<I4', value, 2)
          for place = 6, #value, 17 do entries[#entries + 1] = string.sub(value, place, place + 16) end
        end
        local function apply(number, entry)
          if string.byte(entry, 13) == 1 then return (struct.unpack('<I4', entry, 14)) end
          return math.max(0, math.min(4294967295, number + struct.unpack('<i4', entry, 14)))
        end
        local function write()
          local text, number = '\\1' .. struct.pack('<I4', base) .. table.concat(entries), base
          redis.call('SET', KEYS[1], text, 'EX', \(lifetimeSeconds))
          for _, entry in ipairs(entries) do number = apply(number, entry) end
          return number
        end

        """
}
