/// One page that follows `GET /events`. Belongs to its connection's event loop.
package final class EventPage {
    private let writeFrames: ([[UInt8]]) -> Void
    private let closeStream: () -> Void
    private let writable: () -> Bool
    package var subscriber = EventSubscriber()

    /// - Parameters:
    ///   - write: writes and flushes frames of an event stream.
    ///   - close: ends the stream.
    ///   - isWritable: tells that the channel's buffer is below its mark.
    package init(
        write: @escaping ([[UInt8]]) -> Void,
        close: @escaping () -> Void,
        isWritable: @escaping () -> Bool
    ) {
        writeFrames = write
        closeStream = close
        writable = isWritable
    }

    package func write(_ frames: [[UInt8]]) { writeFrames(frames) }
    package func close() { closeStream() }
    package var isWritable: Bool { writable() }
}
