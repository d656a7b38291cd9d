import PushTopics
import RedisClient

extension RedisPipeline {
    /// Reads the clock of the server that has the slot, UNIX milliseconds.
    package func readClock(slot: RedisSlot, _ completion: @escaping (Result<Int64, RedisError>) -> Void) {
        send(slot: slot) { writer in
            writer.command("TIME", argumentCount: 0)
        } _: { result in
            completion(
                result.flatMap { reply in
                    guard reply.count == 2, let seconds = reply[0].string.flatMap({ UInt32($0) }),
                        let microseconds = reply[1].string.flatMap({ UInt32($0) })
                    else { return .failure(.server(prefix: "BELFRY", message: "a time of an unknown form")) }
                    return .success(Int64(seconds) * 1000 + Int64(microseconds / 1000))
                }
            )
        }
    }
}
