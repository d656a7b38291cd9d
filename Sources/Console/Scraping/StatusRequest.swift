import BelfrySupport
import NIOCore
import NIOPosix
import TLSTransport

/// One look at a process: a connection, `GET /status`, the answer. Bounded in time and bytes by ``ConsoleLimits``.
struct StatusRequest: Sendable {
    /// The way to every process.
    struct Route: Sendable {
        /// The value of `Authorization`; nil: none is sent.
        var authorization: String?
        /// Nil: they speak plain HTTP.
        var tls: TLSContext?
        /// The name that every certificate must have; nil: the host that is asked.
        var serverName: String?
    }

    let address: HostPort
    let route: Route

    /// The answer, read on another thread: a long one would hold up the others.
    func send(on eventLoop: any EventLoop) -> EventLoopFuture<Result<RoleAnswer, AnswerTrouble>> {
        var headers = [(name: "accept", value: "application/json")]
        if let authorization = route.authorization { headers.append(("authorization", authorization)) }
        let exchange = HTTPExchange(
            "GET",
            "/status",
            headers: headers,
            timeout: ConsoleLimits.scrapeTimeout,
            mostBytes: ConsoleLimits.answerBytes
        )
        return
            exchange.send(
                to: address,
                tls: route.tls.map { ($0, route.serverName ?? address.host) },
                on: eventLoop
            )
            .flatMap { answer in
                NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
                    AnswerReading.read(status: answer.status, body: answer.body)
                }
            }
            .flatMapErrorThrowing { .failure(AnswerTrouble("\($0)")) }
    }
}
