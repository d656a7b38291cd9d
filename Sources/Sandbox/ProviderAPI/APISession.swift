import APNsProtocol
import HTTP2Transport
import NIOCore
import TLSTransport

/// One connection to the provider API, from the end of its handshake: which requests are accepted, what is answered,
/// when it ends. Every request is answered in the call that completes it.
///
/// ```
/// connection ──▶ receive(_:now:) ──▶ takeOutput(into:) ──▶ connection, until isFinished
/// ```
///
/// Without sockets and clocks; what is accepted changes the topics' ledgers, each of which is locked once for a row of
/// requests. Belongs to one thread at a time.
final class APISession {
    /// The time of a call, by both clocks.
    struct Time: Sendable {
        let clock: NIODeadline
        let unixSeconds: UInt32
    }

    /// Bytes that tell HTTP/2's preface from a method of HTTP/1.
    private static let openingBytes = 4

    private let service: PushService
    private let http: HTTP2ServerSession
    private var authentication: APIAuthentication
    private var reader: APIRequestReader
    private var answers: APIAnswers
    /// Requests of the present call; empty between calls.
    private var batch: [APIRequest] = []
    /// The app instances of a row of requests; empty between calls.
    private var instances: [AppInstance?] = []
    /// The client may open one stream only, until its provider token has proven good.
    private var isProbation: Bool
    /// Bytes that are still to come before anything is said; 0: it is known that the client speaks HTTP/2, or not.
    private var unseenBytes: Int
    /// Something was said: of HTTP/2, or that it is needed.
    private var hasSpoken = false

    /// - Parameters:
    ///   - certificate: the client's; nil: it showed none.
    ///   - keys: those of the provider tokens that are taken on this connection.
    ///   - isHTTP2: both sides agreed on `h2` by ALPN.
    ///   - seed: of the ids that the service makes.
    init(
        service: PushService,
        certificate: CertificateInfo?,
        keys: [KnownProviderKey],
        isHTTP2: Bool = true,
        seed: UInt64
    ) {
        self.service = service
        authentication = APIAuthentication(
            certificate: certificate,
            environment: service.environment,
            keys: keys,
            served: Set(service.topics.map(\.name))
        )
        reader = APIRequestReader(service: service)
        answers = APIAnswers(environment: service.environment, seed: seed)
        isProbation = authentication.isByToken
        unseenBytes = isHTTP2 ? 0 : Self.openingBytes
        let streams = isProbation ? SandboxLimits.probationStreams : SandboxLimits.apiStreams
        http = HTTP2ServerSession(
            settings: HTTP2Settings(maxConcurrentStreams: streams),
            limits: SandboxLimits.apiPeer
        )
        if authentication.hasForeignEnvironment { turnAway() }
    }

    /// The topic of the client's certificate; nil without one that is served.
    var certificateTopic: PushService.Topic? {
        authentication.bundle.flatMap(service.topic(named:))
    }

    /// Nothing will be read or written any more: the connection is to be closed behind the last output.
    var isFinished: Bool { http.isFinished }

    /// The reason why the session is over, if it ended before its time; for logs.
    var failure: HTTP2Failure? { http.failure }

    /// Takes the next bytes from the connection, in any chunks.
    func receive(_ bytes: ByteBuffer, now: Time) {
        unseenBytes = max(0, unseenBytes - bytes.readableBytes)
        http.receive(bytes, now: now.clock)
        // Nobody else holds it, so nothing is copied.
        var batch = self.batch
        self.batch = []
        while let event = http.nextEvent() {
            // Nothing waits for an event of another kind.
            guard case .request(let stream, let message) = event else { continue }
            batch.append(reader.read(message, on: stream, &authentication, now: Int64(now.unixSeconds)))
        }
        judge(&batch, now)
        answer(batch)
        batch.removeAll(keepingCapacity: true)
        self.batch = batch
    }

    /// Moves all output behind the readable bytes of `buffer`, see ``HTTP2ServerSession/takeOutput(into:)``.
    func takeOutput(into buffer: inout ByteBuffer) {
        if case .notHTTP2 = http.failure {
            if !hasSpoken { buffer.writeImmutableBuffer(HTTP1Refusal.answer) }
            hasSpoken = true
        } else if unseenBytes == 0 {
            hasSpoken = true
            http.takeOutput(into: &buffer)
        }
    }

    /// "A certificate of the wrong environment gets no answer at all but GOAWAY" [field].
    private func turnAway() {
        let body = ProviderErrorBody(reason: .badCertificateEnvironment)
        http.goAway(.noError, debugData: body.json, last: HTTP2StreamID(rawValue: 0))
    }
}

// MARK: Requests

extension APISession {
    /// Decides on the requests that are in order, and writes all of them into the books.
    private func judge(_ batch: inout [APIRequest], _ now: Time) {
        var instances = self.instances
        self.instances = []
        var start = 0
        while start < batch.count {
            let number = batch[start].topic
            let end = batch[start...].firstIndex { $0.topic != number } ?? batch.count
            let row = start..<end
            if let number {
                service.topics[number].withLedger { ledger in
                    Self.anticipate(batch[row], &ledger, &instances)
                    for index in row { Self.judge(&batch[index], &ledger, now.unixSeconds) }
                }
            } else {
                service.countAPIRefusals(batch[row].compactMap(\.refusal))
            }
            start = end
        }
        instances.removeAll(keepingCapacity: true)
        self.instances = instances
    }

    private static func anticipate(
        _ row: ArraySlice<APIRequest>,
        _ ledger: inout TopicLedger,
        _ instances: inout [AppInstance?]
    ) {
        guard row.count > 1 else { return }
        instances.removeAll(keepingCapacity: true)
        for request in row { instances.append(request.order?.instance) }
        instances.withUnsafeBufferPointer { ledger.anticipate($0) }
    }

    private static func judge(_ request: inout APIRequest, _ ledger: inout TopicLedger, _ now: UInt32) {
        if let order = request.order {
            request.refusal = request.message.withBody { payload in
                order.withNotification(payload: payload) { ledger.accept($0, for: order.instance, now: now) }
            }
        }
        if let refusal = request.refusal { ledger.countRefusal(refusal) }
    }

    private func answer(_ batch: [APIRequest]) {
        for request in batch {
            if let refusal = request.refusal {
                answers.fail(request, refusal, on: http)
            } else {
                answers.succeed(request, on: http)
                endProbation()
            }
        }
    }

    /// "With a token 1 until the first success, then about 1000" [field].
    private func endProbation() {
        guard isProbation else { return }
        isProbation = false
        http.send(HTTP2Settings(maxConcurrentStreams: SandboxLimits.apiStreams))
    }
}

extension APIOrder {
    /// Lends the notification in the form of the books.
    @inline(__always)
    fileprivate func withNotification<Result>(
        payload: UnsafeRawBufferPointer,
        _ body: (RoutedNotification) -> Result
    ) -> Result {
        guard let collapseID else { return body(notification(payload, UnsafeRawBufferPointer(start: nil, count: 0))) }
        return collapseID.withUnsafeBytes { body(notification(payload, $0)) }
    }

    private func notification(
        _ payload: UnsafeRawBufferPointer,
        _ collapseID: UnsafeRawBufferPointer
    ) -> RoutedNotification {
        RoutedNotification(
            expiration: expiration,
            priority: priority,
            payload: payload,
            pushType: pushType,
            collapseID: collapseID
        )
    }
}
