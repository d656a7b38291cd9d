public import NIOCore

/// A view of a received request or answer, without a copy.
///
/// Valid from its event until the session's next `receive`; later uses trap, unless the session is gone: then they are
/// undefined. Copy what is needed longer.
public struct HTTP2Message {
    private let state: UnsafeMutablePointer<SessionState>
    private let slot: Int32
    private let generation: UInt32

    init(state: UnsafeMutablePointer<SessionState>, slot: Int32) {
        self.state = state
        self.slot = slot
        generation = state.pointee.generation
    }

    private var stream: UnsafeMutablePointer<StreamTable.Slot> {
        precondition(generation == state.pointee.generation, "the message belongs to an earlier receive")
        return state.pointee.streams[slot]
    }

    /// Calls `body` with name and value of each field, in the peer's order. A request's pseudo-header fields
    /// (`:method`, `:path` …) come first; an answer's `:status` and all trailers are left out. The pointers are valid
    /// during the call only.
    public func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
        stream.pointee.message.forEachField { name, value in
            body(name, value)
            return true
        }
    }

    /// Lends the value of the first field of a name; returns `nil` without a call if there is none.
    ///
    /// - Parameter name: in lower case.
    @inlinable
    public func withValue<Result>(of name: StaticString, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        valueInPlace(of: name).map(body)
    }

    /// Not generic: code that is looks its types up at run time, which cost a sixteenth of the sandbox's time.
    @usableFromInline
    func valueInPlace(of name: StaticString) -> UnsafeRawBufferPointer? {
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var found: UnsafeRawBufferPointer?
        stream.pointee.message.forEachField { name, value in
            guard name.count == wanted.count, name.elementsEqual(wanted) else { return true }
            found = value
            return false
        }
        return found
    }

    /// The value of the first field of a name, as text; `nil` if there is none.
    public func value(of name: StaticString) -> String? {
        withValue(of: name) { String(decoding: $0, as: UTF8.self) }
    }

    /// Lends the body, as much of it as was kept. The pointer is valid during the call only.
    @inlinable
    public func withBody<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(bodyInPlace)
    }

    @usableFromInline
    var bodyInPlace: UnsafeRawBufferPointer { stream.pointee.message.body }

    /// A copy of the body, as much of it as was kept.
    public var body: ByteBuffer {
        withBody { ByteBuffer(bytes: $0) }
    }

    /// Bytes of the body that the peer sent, those that were dropped included.
    public var bodyBytes: Int {
        stream.pointee.bodyBytes
    }

    /// False: the body was larger than ``PeerLimits/bodyBytes``, and its end was dropped.
    public var isBodyWhole: Bool {
        stream.pointee.bodyBytes == stream.pointee.message.bodyBytes
    }
}
