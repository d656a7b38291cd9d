import Testing

@testable import TLSTransport

/// The rules of a connection's life, without a connection.
struct StateMachineTests {
    static func handshaking() -> TLSHandlerStateMachine {
        var machine = TLSHandlerStateMachine()
        _ = machine.activated()
        return machine
    }

    static func open() -> TLSHandlerStateMachine {
        var machine = Self.handshaking()
        machine.handshakeCompleted()
        return machine
    }

    @Test("The handshake begins once")
    func activatedOnce() {
        var machine = TLSHandlerStateMachine()
        #expect(machine.writeUse == .queue && machine.ciphertextUse == .discard)
        let first = machine.activated()
        let second = machine.activated()
        #expect(first && !second)
        #expect(machine.writeUse == .queue && machine.ciphertextUse == .handshake && machine.needsInputForItself)
    }

    @Test("A close before the end of the handshake says nothing")
    func closeDuringHandshake() {
        var machine = Self.handshaking()
        let action = machine.closeRequested(.all)
        let error = machine.deactivated()
        #expect(action == .closeNow && error == nil)
    }

    @Test("An end of stream is an error exactly while the peer may still have something to say")
    func endOfStream() {
        var machine = Self.open()
        var error = machine.deactivated()
        #expect(error == .uncleanShutdown)

        machine = Self.handshaking()
        _ = machine.transportFailed("reset")
        error = machine.deactivated()
        #expect(error == .closedDuringHandshake(cause: "reset"))

        machine = Self.open()
        _ = machine.closeNotifyReceived(allowsHalfClosure: true)
        error = machine.deactivated()
        #expect(error == nil)

        machine = Self.open()
        _ = machine.closeRequested(.all)
        error = machine.deactivated()
        #expect(error == nil)

        // We only ended our own side: the peer's answer may be cut.
        machine = Self.open()
        _ = machine.closeRequested(.output)
        error = machine.deactivated()
        #expect(error == .uncleanShutdown)
    }

    @Test("An error of the socket is told once: the end of the stream that follows is no news")
    func transportFailure() {
        var machine = Self.open()
        let told = machine.transportFailed("reset")
        let error = machine.deactivated()
        #expect(told && error == nil)

        machine = Self.open()
        _ = machine.closeRequested(.all)
        let whileClosing = machine.transportFailed("reset")
        #expect(!whileClosing)
    }

    @Test("After our close the peer's plaintext is still read, after a failure it is not")
    func lingering() {
        var machine = Self.open()
        let action = machine.closeRequested(.all)
        #expect(action == .sendEndAndLinger)
        #expect(machine.ciphertextUse == .decrypt && machine.writeUse == .refuse && machine.needsInputForItself)

        let failure = machine.failed()
        #expect(failure == .report(.none))
        #expect(machine.ciphertextUse == .discard)
        let again = machine.failed()
        #expect(again == .ignore)
    }

    @Test("close_notify is answered with ours, or tells the end of the input where half-closure is allowed")
    func closeNotify() {
        var machine = Self.open()
        var (tells, end) = machine.closeNotifyReceived(allowsHalfClosure: false)
        #expect(!tells && end == .sendEndAndLinger)
        (tells, end) = machine.closeNotifyReceived(allowsHalfClosure: false)
        #expect(!tells && end == .none)

        machine = Self.open()
        (tells, end) = machine.closeNotifyReceived(allowsHalfClosure: true)
        #expect(tells && end == .none)
        #expect(machine.writeUse == .encrypt && machine.ciphertextUse == .discard)
        let close = machine.closeRequested(.output)
        #expect(close == .sendEndAndLinger)

        machine = Self.open()
        _ = machine.closeRequested(.output)
        (tells, end) = machine.closeNotifyReceived(allowsHalfClosure: true)
        #expect(tells && end == .linger)
    }

    @Test("The socket's end of input closes the channel only if close_notify did not come first")
    func inputEnded() {
        var machine = Self.open()
        var (error, closes) = machine.inputEnded()
        #expect(error == .uncleanShutdown && closes)
        #expect(machine.deactivated() == nil)

        machine = Self.open()
        _ = machine.closeNotifyReceived(allowsHalfClosure: true)
        (error, closes) = machine.inputEnded()
        #expect(error == nil && !closes)
        #expect(machine.writeUse == .encrypt)
    }

    @Test("A second close joins the first, a second close of the output is refused")
    func secondClose() {
        var machine = Self.open()
        let output = machine.closeRequested(.output)
        let outputAgain = machine.closeRequested(.output)
        let all = machine.closeRequested(.all)
        let allAgain = machine.closeRequested(.all)
        #expect(output == .sendEnd && outputAgain == .refuse && all == .linger && allAgain == .none)
        _ = machine.deactivated()
        let afterwards = machine.closeRequested(.all)
        #expect(afterwards == .refuse)
    }
}
