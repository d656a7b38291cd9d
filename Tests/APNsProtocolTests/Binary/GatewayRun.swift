import APNsProtocol

/// A notification that outlives its callback.
struct Received: Hashable {
    var command: UInt8
    var identifier: UInt32
    var expiration: UInt32
    var priority: NotificationPriority
    var token: [UInt8]
    var payload: [UInt8]
}

extension Received {
    init(_ view: NotificationView) {
        self.init(
            command: view.command,
            identifier: view.identifier,
            expiration: view.expiration,
            priority: view.priority,
            token: [UInt8](view.token),
            payload: [UInt8](view.payload)
        )
    }
}

/// Everything a decoder made of a stream.
struct GatewayRun: Hashable {
    var received: [Received] = []
    var failure: ErrorResponse?
    var failedCommand: UInt8?
    var discarded = 0
    var bufferedBytes = 0
}

extension GatewayRun {
    /// Runs the decoder over a stream that is cut into these chunks.
    static func decode(
        _ chunks: [[UInt8]],
        limits: GatewayLimits = GatewayLimits(),
        refuse: (Received) -> APNsStatus? = { _ in nil }
    ) -> (run: GatewayRun, mostBufferedBytes: Int) {
        var run = GatewayRun()
        var mostBufferedBytes = 0
        var decoder = GatewayFrameDecoder(limits: limits)
        for chunk in chunks {
            let hadFailed = decoder.hasFailed
            let outcome = chunk.withUnsafeBytes { bytes in
                decoder.decode(bytes) { view in
                    let notification = Received(view)
                    let status = refuse(notification)
                    if status == nil { run.received.append(notification) }
                    return status
                }
            }
            precondition((outcome == .discarding) == hadFailed, "a failure is reported once, then bytes are discarded")
            if case .failed(let response, let command) = outcome {
                run.failure = response
                run.failedCommand = command
            }
            mostBufferedBytes = max(mostBufferedBytes, decoder.bufferedBytes)
        }
        run.discarded = decoder.discarded
        run.bufferedBytes = decoder.bufferedBytes
        return (run, mostBufferedBytes)
    }

    static func decode(_ stream: [UInt8], limits: GatewayLimits = GatewayLimits()) -> GatewayRun {
        decode([stream], limits: limits).run
    }
}
