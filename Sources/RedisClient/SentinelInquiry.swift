import NIOCore

/// Asks sentinels for the master, over a connection for each question. Carries out what ``SentinelSearch`` says. On the
/// event loop of the connection that owns it.
final class SentinelInquiry {
    typealias Completion = (Result<RedisAddress, SentinelSilence>) -> Void

    private let sentinels: RedisSentinels
    private let eventLoop: any EventLoop
    private var search: SentinelSearch
    /// To the sentinel that is being asked.
    private var connection: RedisConnection?
    private var completion: Completion?

    init(_ sentinels: RedisSentinels, eventLoop: any EventLoop) {
        self.sentinels = sentinels
        self.eventLoop = eventLoop
        search = SentinelSearch(master: sentinels.master, sentinels: sentinels.connections.map(\.endpoint.node))
    }

    /// Asks until a sentinel names the master, or all were asked in vain. One search at a time.
    ///
    /// - Parameter completion: called once, unless the inquiry is closed before; perhaps before `ask` returns.
    func ask(_ completion: @escaping Completion) {
        precondition(self.completion == nil, "one search at a time")
        self.completion = completion
        carryOut(search.begin())
    }

    /// Ends the search, if there is one. Closing twice is harmless.
    func close() {
        completion = nil
        drop()
    }

    private func carryOut(_ step: SentinelSearch.Step) {
        switch step {
        case .ask(let position): ask(sentinels.connections[position])
        case .found(let server): finish(.success(server))
        case .failed(let silence): finish(.failure(silence))
        }
    }

    private func ask(_ configuration: RedisConnection.Configuration) {
        let connection = RedisConnection(configuration: configuration, eventLoop: eventLoop)
        self.connection = connection
        connection.onStateChange = { [weak self] state in
            // A sentinel that is away now is not waited for: others may be there.
            guard let self, case .disconnected(let cause) = state else { return }
            answered(SentinelAnswer(cause))
        }
        connection.send { writer in
            writer.command("SENTINEL", argumentCount: 2)
            writer.argument("get-master-addr-by-name")
            writer.argument(sentinels.master)
        } _: { [weak self, weak connection] result in
            // Nil, or another: it was dropped, and fails what it had not answered.
            guard let self, let connection, connection === self.connection else { return }
            answered(SentinelAnswer(result))
        }
        connection.start()
    }

    private func answered(_ answer: SentinelAnswer) {
        drop()
        carryOut(search.answered(answer))
    }

    private func drop() {
        let dropped = connection
        connection = nil
        dropped?.onStateChange = nil
        dropped?.close()
    }

    private func finish(_ result: Result<RedisAddress, SentinelSilence>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}
