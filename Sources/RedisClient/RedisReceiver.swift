/// Takes the outcomes of many commands and tells them apart by number, so that a command costs no closure.
///
/// Called on the event loop of the client, which keeps the receiver until its last command has completed.
public protocol RedisReceiver: AnyObject {
    /// Called exactly once per command, under the rules of ``RedisConnection/Completion``.
    ///
    /// - Parameter number: given with the command; any number.
    func received(_ result: Result<RedisReply, RedisError>, for number: Int)
}

/// The taker of one command's outcome.
enum CommandCompletion {
    case closure(RedisConnection.Completion)
    case receiver(any RedisReceiver, number: Int)

    @inline(__always)
    func callAsFunction(_ result: Result<RedisReply, RedisError>) {
        switch self {
        case .closure(let completion): completion(result)
        case .receiver(let receiver, let number): receiver.received(result, for: number)
        }
    }
}
