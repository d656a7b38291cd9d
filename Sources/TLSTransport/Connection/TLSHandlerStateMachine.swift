/// Decides the steps in the life of a ``TLSHandler``'s connection; the handler carries them out.
///
/// A connection ends in the same way from either side: close_notify (or a fatal alert) and an end of stream go out,
/// then the peer's end of stream is awaited for a limited time before the socket is closed. A socket closed with unread
/// input sends a reset instead, which may destroy the last bytes written: here that is the answer to a bad
/// notification, or the alert with the reason for refusing a certificate.
struct TLSHandlerStateMachine {
    enum Side {
        case open
        case closed
    }

    private enum State {
        /// The channel is not active yet.
        case idle
        case handshaking
        /// `input` is closed by the peer's close_notify (or a failed socket), `output` by ours.
        case open(input: Side, output: Side)
        /// Our end is sent, the peer's end of stream is awaited. `discarding` after a failure: bytes that still arrive
        /// cannot be trusted.
        case lingering(discarding: Bool)
        case closed
    }

    private var state = State.idle
    /// The socket's error during the handshake, reported when the channel dies.
    private var handshakeFailure: String?

    enum CiphertextUse {
        case handshake
        case decrypt
        case discard
    }

    /// The use of arriving bytes.
    var ciphertextUse: CiphertextUse {
        switch state {
        case .handshaking: .handshake
        case .open(input: .open, output: _), .lingering(discarding: false): .decrypt
        case .idle, .open(input: .closed, output: _), .lingering(discarding: true), .closed: .discard
        }
    }

    enum WriteUse {
        /// Keep the write until the handshake is done.
        case queue
        case encrypt
        /// Nothing can be sent any more.
        case refuse
    }

    var writeUse: WriteUse {
        switch state {
        case .idle, .handshaking: .queue
        case .open(input: _, output: .open): .encrypt
        case .open(input: _, output: .closed), .lingering, .closed: .refuse
        }
    }

    /// The socket must be read although no handler asked for plaintext.
    var needsInputForItself: Bool {
        switch state {
        case .handshaking, .lingering: true
        case .idle, .open, .closed: false
        }
    }
}

// MARK: Inputs

extension TLSHandlerStateMachine {
    /// The channel is active. Returns true if the handshake is to begin.
    mutating func activated() -> Bool {
        guard case .idle = state else { return false }
        state = .handshaking
        return true
    }

    mutating func handshakeCompleted() {
        guard case .handshaking = state else { preconditionFailure("no handshake is under way") }
        state = .open(input: .open, output: .open)
    }

    /// The way to end the connection.
    enum EndAction: Equatable {
        case none
        /// Close the socket: there is nothing to send.
        case closeNow
        /// Send close_notify and the end of stream, and leave the socket open for reading.
        case sendEnd
        /// Like `sendEnd`, and close the socket when the peer has ended too or the time is up.
        case sendEndAndLinger
        /// The end was sent before; close the socket when the peer has ended too or the time is up.
        case linger
        /// Fail the close with the channel's own error: it is closed already.
        case refuse
    }

    enum CloseMode {
        case output
        case all
    }

    /// Our side asks for a close.
    mutating func closeRequested(_ mode: CloseMode) -> EndAction {
        switch (state, mode) {
        case (.idle, _), (.handshaking, _):
            state = .lingering(discarding: true)
            return .closeNow
        case (.open(input: .open, output: .open), .output):
            state = .open(input: .open, output: .closed)
            return .sendEnd
        case (.open(input: _, output: .closed), .output), (.lingering, .output):
            return .refuse
        case (.open(let input, let output), _):
            state = .lingering(discarding: input == .closed)
            return output == .open ? .sendEndAndLinger : .linger
        case (.lingering, .all):
            return .none
        case (.closed, _):
            return .refuse
        }
    }

    /// The peer sent close_notify: it will send nothing more.
    ///
    /// - Returns: whether to tell the next handlers, and how the connection goes on. Without half-closure an end of the
    ///   input is the end of the connection, as for NIO's channels.
    mutating func closeNotifyReceived(allowsHalfClosure: Bool) -> (tellsInputClosed: Bool, end: EndAction) {
        guard case .open(.open, let output) = state else { return (false, .none) }
        if allowsHalfClosure, output == .open {
            state = .open(input: .closed, output: .open)
            return (true, .none)
        }
        state = .lingering(discarding: true)
        return (allowsHalfClosure, output == .open ? .sendEndAndLinger : .linger)
    }

    enum FailureAction: Equatable {
        case ignore
        /// Report the error, then send the alert and end the connection.
        case report(EndAction)
    }

    /// OpenSSL failed, in the handshake or after.
    mutating func failed() -> FailureAction {
        switch state {
        case .idle, .handshaking, .open(input: _, output: .open):
            state = .lingering(discarding: true)
            return .report(.sendEndAndLinger)
        case .open(input: _, output: .closed):
            state = .lingering(discarding: true)
            return .report(.linger)
        case .lingering(discarding: false):
            // Closing already, but a refused certificate is still worth reporting.
            state = .lingering(discarding: true)
            return .report(.none)
        case .lingering(discarding: true), .closed:
            return .ignore
        }
    }

    /// The socket reported an error. Returns true if the next handlers are to see it.
    mutating func transportFailed(_ description: String) -> Bool {
        switch state {
        case .idle:
            return true
        case .handshaking:
            handshakeFailure = description
            return false
        case .open(_, let output):
            // Reported once: the end of the stream that follows is no news.
            state = .open(input: .closed, output: output)
            return true
        case .lingering, .closed:
            return false
        }
    }

    /// The peer's side of the stream ended, while the channel lives on (half-closure).
    ///
    /// - Returns: an error to report; whether to close the socket.
    mutating func inputEnded() -> (error: TLSError?, closes: Bool) {
        let error = errorAtEnd()
        switch state {
        case .idle, .handshaking, .open(input: .open, output: _):
            state = .lingering(discarding: true)
            return (error, true)
        case .open(.closed, let output):
            return (nil, output == .closed)
        case .lingering, .closed:
            // The socket closes itself once the written bytes have left.
            return (nil, false)
        }
    }

    /// The channel is gone. Returns an error to report.
    mutating func deactivated() -> TLSError? {
        let error = errorAtEnd()
        state = .closed
        return error
    }

    /// The error for an end of the stream in the present state, if any.
    private func errorAtEnd() -> TLSError? {
        switch state {
        case .handshaking: .closedDuringHandshake(cause: handshakeFailure)
        case .open(input: .open, output: _): .uncleanShutdown
        case .idle, .open(input: .closed, output: _), .lingering, .closed: nil
        }
    }
}
