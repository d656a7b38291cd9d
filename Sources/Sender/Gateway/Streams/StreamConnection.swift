import APNsProtocol
import BelfrySupport
import HTTP2Transport
import NIOCore

/// Opens connections for a credential, one attempt at a time. Bound to the shard's event loop.
protocol StreamConnecting: AnyObject {
    var eventLoop: any EventLoop { get }
    /// Rises whenever new connections are opened with another credential than those before, or trust other
    /// authorities. Cheap to ask in every tick.
    var edition: UInt64 { get }
    /// Begins an attempt; the connections' owner is told of the result, unless it no longer wants it.
    func connect(_ connections: CredentialConnections, number: UInt32)
    /// The address of an attempt, for the log.
    func placeName(of number: UInt32) -> String
    /// An attempt, or a connection, failed.
    func noteFailure()
}

/// An open connection of a credential: streams with requests.
protocol StreamConnection: AnyObject {
    /// The number of streams that the peer allows to be open at present.
    var maxConcurrentStreams: Int { get }
    /// Bodies wait for the peer's windows, or the socket takes no more.
    var isStalled: Bool { get }
    /// Sends a request with the next ``flush()``.
    ///
    /// - Returns: the number of the stream.
    /// - Throws: when no stream can be opened now; nothing has happened then.
    func open(_ request: StreamRequest, tag: UInt64) throws(HTTP2OpenRefusal) -> Int32
    /// Gives a stream up; its owner is told of its end.
    func reset(stream: Int32)
    /// Asks for a sign of life.
    func ping()
    /// Writes what was opened, reset and asked.
    func flush()
    /// Closes the connection in order. Its later events are ignored.
    func close()
    /// Closes the connection at once, whatever it still buffers, for a peer that does not answer.
    func abort()
}
