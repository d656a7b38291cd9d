import NIOCore
import NIOHTTP1
import NIOPosix
import SocketErrors
import TLSTransport

/// One request over HTTP/1.1 on a connection of its own, and its whole answer; bounded in time and bytes.
public struct HTTPExchange: Sendable {
    /// An answer, complete.
    public struct Answer: Sendable {
        public var status: Int
        public var body: [UInt8] = []
    }

    /// There is no answer; the reason in words.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// `GET`, `POST` and so on.
    public var method: String
    public var path: String
    /// Beside `Host`, `Connection` and `Content-Length`.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// From the beginning of the connection to the end of the answer.
    public var timeout: TimeAmount
    /// Longest body of an answer.
    public var mostBytes: Int

    public init(
        _ method: String,
        _ path: String,
        headers: [(name: String, value: String)],
        body: [UInt8] = [],
        timeout: TimeAmount,
        mostBytes: Int
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.mostBytes = mostBytes
    }

    /// Connects, asks and closes.
    ///
    /// - Parameters:
    ///   - tls: the name that the server's certificate must have, beside the context; nil: plain HTTP.
    ///   - eventLoop: of the connection.
    /// - Returns: the answer, whatever its status; fails with ``Failure`` only.
    public func send(
        to address: HostPort,
        tls: (context: TLSContext, serverName: String)? = nil,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<Answer> {
        let answer = eventLoop.makePromise(of: Answer.self)
        let late = Failure(description: "no answer within \(timeout.nanoseconds / 1_000_000_000) s")
        let deadline = eventLoop.scheduleTask(in: timeout) { answer.fail(late) }
        ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
            .channelInitializer { [mostBytes] channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(TLSHandler(context: tls.context, serverName: tls.serverName))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(AnswerCollector(answer, mostBytes: mostBytes))
                }
            }
            .connect(host: address.host, port: address.port)
            .whenComplete { result in
                switch result {
                case .failure(let error): answer.fail(error)
                case .success(let channel):
                    answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
                    write(to: channel, of: address)
                }
            }
        return answer.futureResult
            .flatMapErrorThrowing { throw $0 as? Failure ?? Failure(description: connectionProblem($0)) }
            .always { _ in deadline.cancel() }
    }

    private func write(to channel: any Channel, of address: HostPort) {
        var fields: HTTPHeaders = ["host": "\(address)", "connection": "close"]
        for header in headers { fields.add(name: header.name, value: header.value) }
        if !body.isEmpty { fields.add(name: "content-length", value: "\(body.count)") }
        let head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: path, headers: fields)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if !body.isEmpty {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }
}

/// Collects an answer of bounded length. Belongs to its connection's event loop.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private static let early = HTTPExchange.Failure(description: "it ended the connection before its answer")

    private let answer: EventLoopPromise<HTTPExchange.Answer>
    private let mostBytes: Int
    private var collected: HTTPExchange.Answer?

    init(_ answer: EventLoopPromise<HTTPExchange.Answer>, mostBytes: Int) {
        self.answer = answer
        self.mostBytes = mostBytes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // Not those with the numbers of the hundreds, which come before the answer.
            if head.status.code >= 200 { collected = HTTPExchange.Answer(status: Int(head.status.code)) }
        case .body(let bytes):
            guard (collected?.body.count ?? 0) + bytes.readableBytes <= mostBytes else {
                answer.fail(HTTPExchange.Failure(description: "its answer is longer than \(mostBytes >> 20) MiB"))
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
        default: answer.fail(HTTPExchange.Failure(description: "what it answers is not HTTP"))
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.fail(Self.early)
        context.fireChannelInactive()
    }
}
