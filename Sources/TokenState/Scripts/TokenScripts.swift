import RedisClient

/// The rules that change a token's state, as Lua so that each is one atomic step on the server.
///
/// Timestamps only ever move forward, so late, repeated and reordered messages lead to the same state.
///
/// Every script that touches a token has KEYS[1], the directory of the token's tag, KEYS[2], the bucket of the token,
/// ARGV[1], the number of buckets by which the caller chose that bucket, and ARGV[2], the token's field in it. If the
/// directory has another number, the script changes nothing and answers with that number, an integer; else it answers
/// with an array (``TokenFacts``). No script works out where a token lies: that takes a key that servers do not have.
///
/// All keys are named, because only then does a Redis Cluster run a script whole or not at all while their slot moves
/// to another master. It puts off a script (TRYAGAIN) of whose keys one is missing, until the slot has moved. A key
/// that a script reads without naming it would seem to be missing on one side: on the old master the script would break
/// off between two writes, on the new one it would take a directory that is still to come for one bucket. So a tag's
/// directory is there as long as the tag has tokens, and what only reads is no script: see ``RedisPipeline``'s
/// questions about buckets. Put off until the slot has moved are a tag's first token, and splits.
enum TokenScripts {
    /// ARGV: buckets, field, registered at, flags of the texts, texts. Moves the registration forward only; clears
    /// older tombstones, keeps newer ones.
    static let register = RedisScript(
        change(
            """
            local at = tonumber(ARGV[3])
            describe(at)
            if at > registered then registered = at end
            local revived = 0
            if tombstoned > 0 and tombstoned <= registered then
              tombstoned, reason, revived = 0, 0, 1
            end
            for kind, refusedAt in pairs(refused) do
              if refusedAt <= registered then refused[kind], revived = nil, 1 end
            end
            return write(revived)
            """
        )
    )

    /// ARGV: buckets, field, described at, flags of the texts, texts. An app's description of its device without
    /// registering.
    static let describe = RedisScript(
        change(
            """
            describe(tonumber(ARGV[3]))
            return write(0)
            """
        )
    )

    /// ARGV: buckets, field, tombstoned at, reason, kind of topics (0: all of them). Written only if the last
    /// registration is older (same second: the token lives). A tombstone for all kinds stands beside those for some.
    static let tombstone = RedisScript(
        change(
            """
            local at, kind = tonumber(ARGV[3]), tonumber(ARGV[5])
            if at <= registered then return answer(0) end
            if kind > 0 then
              if at <= (refused[kind] or 0) then return answer(0) end
              refused[kind] = at
              return write(0)
            end
            if at > tombstoned or (at == tombstoned and tonumber(ARGV[4]) < reason) then
              tombstoned, reason = at, tonumber(ARGV[4])
              return write(0)
            end
            return answer(0)
            """
        )
    )

    /// ARGV: buckets, field. Removes everything about the token; answers with a string, the number of removed records.
    static let forget = RedisScript(agreed + removal + "return tostring((remove()))")

    /// ARGV: buckets, field, forgotten at. Removes everything about a token that a gateway called invalid no later than
    /// that. One with another tombstone, or that registered since, is newer and stays. One that registered, and was
    /// refused for some kinds of topics alone, lives: only these refusals go.
    static let forgetInvalid = RedisScript(
        change(
            removal + """
                if registered > 0 and tombstoned == 0 then
                  local former = next(refused)
                  for kind, refusedAt in pairs(refused) do
                    if refusedAt <= tonumber(ARGV[3]) then refused[kind] = nil end
                  end
                  return former and write(0) or answer(0)
                end
                local last = tombstoned
                for _, refusedAt in pairs(refused) do last = math.max(last, refusedAt) end
                local isInvalid = reason == 2 or tombstoned == 0
                if isInvalid and last > registered and last <= tonumber(ARGV[3]) then
                  local _, left = remove()
                  return {0, 0, 0, 0, left}
                end
                return answer(0)
                """
        )
    )

    /// ARGV: buckets, field, the record as it was read. Removes the record if it has not changed since; answers with a
    /// string, the number of removed records.
    static let sweep = RedisScript(
        agreed + removal + """
            if redis.call('HGET', KEYS[2], ARGV[2]) ~= ARGV[3] then return '0' end
            return tostring((remove()))
            """
    )

    /// KEYS: directory, the bucket to divide, the new one, the one to divide next; ARGV: buckets. Answers with an
    /// array: the number of buckets afterwards, and the number of tokens in the next one. See ``TokenBuckets``.
    static let split = RedisScript(
        agreed + """
            -- The hash stands in the field: the server needs no key.
            local function hash(field)
              local low, middle, high = string.byte(field, 1, 3)
              return low + middle * 256 + high * 65536
            end
            local size = 1
            while size * 2 <= count do size = size * 2 end
            local source = count - size
            local all = redis.call('HGETALL', KEYS[2])
            local moved, left = {}, {}
            for index = 1, #all, 2 do
              local target = hash(all[index]) % (size * 2) == source and left or moved
              target[#target + 1] = all[index]
              target[#target + 1] = all[index + 1]
            end
            local function put(key, pairs)
              for first = 1, #pairs, 1000 do
                redis.call('HSET', key, unpack(pairs, first, math.min(first + 999, #pairs)))
              end
            end
            if #moved > 0 then
              -- First the new one: if that is refused, nothing is lost.
              put(KEYS[3], moved)
              redis.call('DEL', KEYS[2])
              put(KEYS[2], left)
            end
            redis.call('SET', KEYS[1], count + 1)
            return {count + 1, redis.call('HLEN', KEYS[4])}
            """
    )

    /// Compares the caller's number of buckets with the directory's; if they differ, answers with the latter.
    private static let agreed = """
        local directory = redis.call('GET', KEYS[1])
        local count = tonumber(directory or 1)
        if count ~= tonumber(ARGV[1]) then return count end

        """

    /// Defines how a record is removed: a tag's last one takes the directory along, unless the tag was ever split.
    /// Nothing may be asked of the bucket afterwards: a master whose slot moves away refuses calls on a key that is
    /// gone.
    private static let removal = """
        local function remove()
          local tokens = redis.call('HLEN', KEYS[2])
          local removed = redis.call('HDEL', KEYS[2], ARGV[2])
          if directory == '1' and removed == tokens then redis.call('DEL', KEYS[1]) end
          return removed, tokens - removed
        end

        """

    private static func change(_ rule: String) -> String {
        agreed + prelude + rule
    }

    /// Reads the record, and defines how it is changed and written.
    private static let prelude = """
        local registered, described, tombstoned, reason, badge = 0, 0, 0, 0, nil
        local kinds, texts, refused = 0, '', {}
        local value = redis.call('HGET', KEYS[2], ARGV[2])
        if value then
          local flags, place
          flags, registered, place = struct.unpack('<BI4', value)
          if flags >= 64 then
            return redis.error_reply('BELFRY a token record with flags ' .. flags .. ' is not known here')
          end
          kinds = bit.band(flags, 28)
          if bit.band(flags, 32) ~= 0 then described, place = struct.unpack('<I4', value, place) end
          if bit.band(flags, 1) ~= 0 then tombstoned, reason, place = struct.unpack('<I4B', value, place) end
          if bit.band(flags, 2) ~= 0 then badge, place = struct.unpack('<I4', value, place) end
          local first, text, kind, refusedAt = place, nil, nil, nil
          if bit.band(flags, 4) ~= 0 then text, place = struct.unpack('<Bc0', value, place) end
          if bit.band(flags, 8) ~= 0 then text, place = struct.unpack('<I2', value, place) end
          if bit.band(flags, 16) ~= 0 then text, place = struct.unpack('<Bc0', value, place) end
          texts = string.sub(value, first, place - 1)
          while place <= #value do
            kind, refusedAt, place = struct.unpack('<BI4', value, place)
            refused[kind] = refusedAt
          end
        end
        -- The latest ones first, as many as find room.
        local function packRefused(room)
          local order, packed = {}, ''
          for kind in pairs(refused) do order[#order + 1] = kind end
          table.sort(order, function(a, b)
            return refused[a] > refused[b] or refused[a] == refused[b] and a < b
          end)
          for place, kind in ipairs(order) do
            if place * 5 <= room then
              packed = packed .. struct.pack('<BI4', kind, refused[kind])
            else
              refused[kind] = nil
            end
          end
          return packed
        end
        local function answer(revived)
          local facts = {registered, tombstoned, reason, revived, redis.call('HLEN', KEYS[2])}
          if next(refused) then facts[6] = packRefused(\(TokenRecord.limitBytes)) end
          return facts
        end
        local function order(text)
          -- Strings compare by the server's locale; digits of bytes do not.
          return (string.gsub(text, '.', function(byte) return string.format('%02x', string.byte(byte)) end))
        end
        local function describe(at)
          local last = math.max(registered, described)
          local newKinds = tonumber(ARGV[4])
          if at > last or (at == last and (newKinds > kinds or (newKinds == kinds and order(ARGV[5]) > order(texts)))) then
            kinds, texts = newKinds, ARGV[5]
          end
          described = math.max(last, at)
        end
        local function write(revived)
          local flags = kinds
          local record = struct.pack('<I4', registered)
          if described > registered then
            flags = flags + 32
            record = record .. struct.pack('<I4', described)
          end
          if tombstoned > 0 then
            flags = flags + 1
            record = record .. struct.pack('<I4B', tombstoned, reason)
          end
          if badge then
            flags = flags + 2
            record = record .. struct.pack('<I4', badge)
          end
          record = string.char(flags) .. record .. texts
          record = record .. packRefused(\(TokenRecord.limitBytes) - #record)
          if not directory then redis.call('SET', KEYS[1], 1) end
          redis.call('HSET', KEYS[2], ARGV[2], record)
          return answer(revived)
        end

        """
}
