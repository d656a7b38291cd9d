/// One connection of a device to the courier, from the end of its handshake: which requests are carried out, what is
/// answered, which notifications it gets, when it ends.
///
/// A device is online for a topic from the time it presented its token, or asked for one, until the connection ends or
/// the app is uninstalled. "The service decrypts the token and checks that its device id is the connecting device's"
/// [13].
///
/// Pure: bytes and the time go in, messages come out; what is asked for changes the ledgers behind the desk.
struct CourierSession: Sendable {
    /// The connection's next step: messages to send, and maybe its end.
    struct Output: Equatable, Sendable {
        /// To be sent, in order.
        var messages: [CourierMessage] = []
        /// Then the connection ends.
        var isLast = false
    }

    /// From the device's certificate.
    let device: UInt32
    /// This connection's number: the newer of two of one device has the greater one.
    let connection: UInt64

    private var decoder = CourierFrameDecoder()
    private var frames = 0
    /// The topics the device was online for at some time of this connection.
    private var topics: Set<Int> = []
    private(set) var isFinished = false

    init(device: UInt32, connection: UInt64) {
        self.device = device
        self.connection = connection
    }

    /// A token was taken, or one was given, on this connection.
    var hasPresented: Bool { !topics.isEmpty }

    // MARK: What the device says

    /// Takes the next bytes of the stream. After the end they mean nothing.
    ///
    /// - Parameters:
    ///   - bytes: valid during the call.
    ///   - now: UNIX seconds.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, desk: some CourierDesk, now: UInt32) -> Output {
        var output = Output()
        guard !isFinished else { return output }
        decoder.append(bytes)
        do throws(CourierRefusal) {
            while let request = try nextRequest() {
                do throws(CourierRefusal) {
                    output.messages.append(try carryOut(request, desk, now))
                } catch {
                    guard !error.code.isFinal else { throw error }
                    output.messages.append(.refused(error))
                }
            }
        } catch {
            output.messages.append(.refused(error))
            output.isLast = true
            isFinished = true
        }
        return output
    }

    private mutating func nextRequest() throws(CourierRefusal) -> CourierRequest? {
        let request: CourierRequest
        do throws(CourierMalformation) {
            guard let frame = try decoder.next() else { return nil }
            request = try CourierRequest(frame)
        } catch {
            throw CourierRefusal(code: .malformed, text: error.description)
        }
        frames += hasPresented ? 0 : 1
        guard frames <= SandboxLimits.framesBeforePresentation else {
            let text = "\(SandboxLimits.framesBeforePresentation) frames and no token that is taken"
            throw CourierRefusal(code: .notPresented, text: text)
        }
        return request
    }

    private mutating func carryOut(
        _ request: CourierRequest,
        _ desk: some CourierDesk,
        _ now: UInt32
    ) throws(CourierRefusal) -> CourierMessage {
        switch request {
        case .present(let token):
            return try present(token, desk, now)
        case .register(let name):
            let topic = try topic(named: name, desk)
            let instance = desk.withLedger(of: topic) { $0.install(device, connection: connection, now: now) }
            return try answer(instance, topic, desk)
        case .restore(let name), .wipe(let name):
            let topic = try topic(named: name, desk)
            let instance = desk.withLedger(of: topic) { $0.renew(device, connection: connection, now: now) }
            return try answer(instance, topic, desk)
        case .unregister(let name):
            let topic = try topic(named: name, desk)
            desk.withLedger(of: topic) { $0.uninstall(device, now: now) }
            return .unregistered(topic: name)
        }
    }

    private mutating func present(
        _ token: [UInt8],
        _ desk: some CourierDesk,
        _ now: UInt32
    ) throws(CourierRefusal) -> CourierMessage {
        guard let (topic, instance) = desk.open(token), instance.device == device else {
            throw CourierRefusal(code: .foreignToken, text: "the token is not one of device \(device)")
        }
        let name = desk.name(of: topic)
        switch desk.withLedger(of: topic, { $0.present(instance, connection: connection, now: now) }) {
        case .online:
            topics.insert(topic)
            return .presented(topic: name)
        case .outdated:
            throw CourierRefusal(code: .outdatedToken, text: "the token of \(name) was replaced by another one")
        case .missing:
            throw CourierRefusal(code: .notInstalled, text: "\(name) is not installed on device \(device)")
        case .replaced:
            throw Self.replacement
        }
    }

    private mutating func answer(
        _ instance: AppInstance?,
        _ topic: Int,
        _ desk: some CourierDesk
    ) throws(CourierRefusal) -> CourierMessage {
        guard let instance else { throw Self.replacement }
        topics.insert(topic)
        return .token(topic: desk.name(of: topic), token: desk.token(of: instance, topic: topic))
    }

    private func topic(named name: String, _ desk: some CourierDesk) throws(CourierRefusal) -> Int {
        guard let topic = desk.topic(named: name) else {
            throw CourierRefusal(code: .unknownTopic, text: "\(name) is not served")
        }
        return topic
    }

    // MARK: What happens to it

    /// There may be something for the device in a topic's outbox, and the socket takes more.
    ///
    /// - Returns: one batch; it is to be called again until one is empty.
    mutating func collect(topic: Int, desk: some CourierDesk) -> Output {
        guard !isFinished else { return Output() }
        let parcel = desk.withLedger(of: topic) {
            $0.outbox.takeParcel(device, connection: connection, limit: SandboxLimits.courierBatch)
        }
        guard !parcel.isOverrun else { return stalled() }
        let name = desk.name(of: topic)
        return Output(
            messages: parcel.deliveries.map { delivery in
                .notification(
                    CourierNotification(
                        topic: name,
                        token: desk.token(of: delivery.instance, topic: topic),
                        expiration: delivery.expiration,
                        priority: delivery.priority.rawValue,
                        pushType: delivery.pushType?.rawValue ?? "",
                        collapseID: delivery.collapseID,
                        payload: delivery.payload
                    )
                )
            }
        )
    }

    /// The device has had ``SandboxLimits/presentation`` since its handshake.
    mutating func presentationIsDue() -> Output {
        guard !hasPresented else { return Output() }
        return finish(CourierRefusal(code: .notPresented, text: "no token was presented in time"))
    }

    /// A newer connection of the device is there.
    mutating func replaced() -> Output {
        finish(Self.replacement)
    }

    /// The device does not read what comes.
    mutating func stalled() -> Output {
        finish(CourierRefusal(code: .tooSlow, text: "notifications were not read"))
    }

    /// The connection is gone: the device is offline for its topics. Idempotent.
    mutating func ended(desk: some CourierDesk, now: UInt32) {
        isFinished = true
        for topic in topics.sorted() {
            desk.withLedger(of: topic) { $0.leave(device, connection: connection, now: now) }
        }
        topics = []
    }

    private mutating func finish(_ refusal: CourierRefusal) -> Output {
        guard !isFinished else { return Output() }
        isFinished = true
        return Output(messages: [.refused(refusal)], isLast: true)
    }

    private static let replacement = CourierRefusal(code: .replaced, text: "a newer connection has taken the place")
}
