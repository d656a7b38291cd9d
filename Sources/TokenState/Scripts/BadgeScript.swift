import RedisClient

/// Badges: the number on the icon of a token's app, as the last changes have left it.
///
/// The value is a version (1 byte, 1), a number (4 bytes), and for each of the last changes its mark (12 bytes), kind
/// (1 byte; 0: taken back, 1: set, 2: add), number (4 bytes, with a sign if added) and claim (6 bytes: UNIX seconds in
/// 4, milliseconds in 2), all little-endian; see ``BadgeRecord``. The badge is the number after all changes, in order.
/// For a change that would be one too many the oldest that was taken back is forgotten; without such, the oldest of all
/// becomes part of the number, and can neither be recognised nor taken back any more.
///
/// The claim is the time from which the caller has had the partition of the notification. Of two callers the one with
/// the later claim owns it: what the former one still does changes nothing.
///
/// The scripts name one key only, so that they run even while a Redis Cluster moves its slot.
package enum BadgeScript {
    /// Most changes that are kept.
    package static let limit = 16
    /// Seconds from the last change until the number is forgotten: 400 days.
    package static let lifetimeSeconds = 400 * 86_400
    /// Seconds for which it is remembered that changes were taken back, where nothing else is kept: longer than a
    /// former owner's command may be on its way.
    package static let shortLifetimeSeconds = 3600

    /// KEYS[1] a ``FingerprintKey``; ARGV: mark, claim (UNIX milliseconds), kind, number. Makes a change, unless one
    /// with that mark is kept. Returns the number afterwards. Idempotent as long as the change is kept.
    package static let change = RedisScript(
        prelude + """
            local kind, number = tonumber(ARGV[3]), tonumber(ARGV[4])
            local changed = ARGV[1] .. struct.pack(kind == 2 and '<Bi4' or '<BI4', kind, number) .. claim(ARGV[2])
            local place = find(ARGV[1])
            if not place then
              append(changed)
            elseif isOwner(entries[place]) then
              if string.byte(entries[place], 13) == 0 then
                table.remove(entries, place)
                append(changed)
              else
                entries[place] = string.sub(entries[place], 1, 17) .. claim(ARGV[2])
              end
            end
            return write()
            """
    )

    /// KEYS[1] a ``FingerprintKey``; ARGV: mark, claim (UNIX milliseconds). Takes the change with that mark back, also
    /// before it is made; later ones stand. Returns the number afterwards. Idempotent.
    package static let takeBack = RedisScript(
        prelude + """
            local returned = ARGV[1] .. struct.pack('<BI4', 0, 0) .. claim(ARGV[2])
            local place = find(ARGV[1])
            if not place then
              append(returned)
            elseif isOwner(entries[place]) then
              entries[place] = returned
            end
            return write()
            """
    )

    /// Reads the value, and defines how it is changed and written.
    private static let prelude = """
        local value = redis.call('GET', KEYS[1])
        local base, entries = 0, {}
        if value then
          if string.byte(value, 1) ~= 1 or #value < 5 or (#value - 5) % 23 ~= 0 then
            return redis.error_reply('BELFRY a badge of another form is not known here')
          end
          base = struct.unpack('<I4', value, 2)
          for place = 6, #value, 23 do entries[#entries + 1] = string.sub(value, place, place + 22) end
        end
        local function find(mark)
          for place, entry in ipairs(entries) do
            if string.sub(entry, 1, 12) == mark then return place end
          end
        end
        local function claim(milliseconds)
          local number = tonumber(milliseconds)
          return struct.pack('<I4I2', math.floor(number / 1000), number % 1000)
        end
        local function isOwner(entry)
          local seconds, milliseconds = struct.unpack('<I4I2', entry, 18)
          return seconds * 1000 + milliseconds <= tonumber(ARGV[2])
        end
        local function apply(number, entry)
          local kind = string.byte(entry, 13)
          if kind == 0 then return number end
          if kind == 1 then return (struct.unpack('<I4', entry, 14)) end
          return math.max(0, math.min(4294967295, number + struct.unpack('<i4', entry, 14)))
        end
        local function append(entry)
          entries[#entries + 1] = entry
          if #entries <= \(limit) then return end
          -- One that was taken back counts for nothing.
          local oldest = 1
          for place, other in ipairs(entries) do
            if string.byte(other, 13) == 0 then
              oldest = place
              break
            end
          end
          base = apply(base, table.remove(entries, oldest))
        end
        local function write()
          local text, number, isKept = '\\1' .. struct.pack('<I4', base) .. table.concat(entries), base, base > 0
          for _, entry in ipairs(entries) do
            number = apply(number, entry)
            isKept = isKept or string.byte(entry, 13) > 0
          end
          redis.call('SET', KEYS[1], text, 'EX', isKept and \(lifetimeSeconds) or \(shortLifetimeSeconds))
          return number
        end

        """
}
