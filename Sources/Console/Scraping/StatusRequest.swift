import BelfrySupport
import NIOCore
import NIOHTTP1
import NIOPosix
import SocketErrors
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
        let answer = eventLoop.makePromise(of: HTTPAnswer.self)
        let deadline = eventLoop.scheduleTask(in: ConsoleLimits.scrapeTimeout) {
            answer.fail(AnswerTrouble("no answer within \(ConsoleLimits.scrapeTimeout.nanoseconds / 1_000_000_000) s"))
        }
        ClientBootstrap(group: eventLoop)
            .connectTimeout(ConsoleLimits.scrapeTimeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = route.tls {
                        let name = route.serverName ?? address.host
                        try pipeline.addHandler(TLSHandler(context: tls, serverName: name))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(AnswerCollector(answer))
                }
            }
            .connect(host: address.host, port: address.port)
            .whenComplete { result in
                switch result {
                case .failure(let error): answer.fail(error)
                case .success(let channel):
                    answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
                    send(over: channel)
                }
            }
        return answer.futureResult
            .flatMap { answer in
                NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
                    AnswerReading.read(status: answer.status, body: answer.body)
                }
            }
            .flatMapErrorThrowing { .failure($0 as? AnswerTrouble ?? AnswerTrouble(connectionProblem($0))) }
            .always { _ in deadline.cancel() }
    }

    private func send(over channel: any Channel) {
        var headers: HTTPHeaders = ["host": "\(address)", "connection": "close", "accept": "application/json"]
        if let authorization = route.authorization { headers.add(name: "authorization", value: authorization) }
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/status", headers: headers)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }
}

/// An answer over HTTP, complete.
struct HTTPAnswer: Sendable {
    var status: Int
    var body: [UInt8] = []
}

/// Collects an answer of bounded length. Belongs to its connection's event loop.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private static let early = AnswerTrouble("it ended the connection before its answer")

    private let answer: EventLoopPromise<HTTPAnswer>
    private var collected: HTTPAnswer?

    init(_ answer: EventLoopPromise<HTTPAnswer>) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // Not those with the numbers of the hundreds, which come before the answer.
            if head.status.code >= 200 { collected = HTTPAnswer(status: Int(head.status.code)) }
        case .body(let bytes):
            guard (collected?.body.count ?? 0) + bytes.readableBytes <= ConsoleLimits.answerBytes else {
                answer.fail(AnswerTrouble("its answer is longer than \(ConsoleLimits.answerBytes >> 20) MiB"))
                collected = nil
                return context.close(promise: nil)
            }
            collected?.body.append(contentsOf: bytes.readableBytesView)
        case .end:
            if let collected { answer.succeed(collected) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? HTTPParserError {
        case .invalidEOFState: answer.fail(Self.early)
        case nil: answer.fail(error)
        default: answer.fail(AnswerTrouble("what it answers is not HTTP"))
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.fail(Self.early)
        context.fireChannelInactive()
    }
}
