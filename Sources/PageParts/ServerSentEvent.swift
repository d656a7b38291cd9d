/// The framing of `GET /events`: text/event-stream as the HTML standard describes it.
package enum ServerSentEvent {
    /// Beginning of a stream. Sets the time a browser waits before it connects again, in milliseconds.
    package static let greeting = Array("retry: 1000\n\n".utf8)

    /// An event. Every line of the data becomes a line of its own, whatever ends it, so that no data can begin another
    /// event.
    ///
    /// - Parameter name: without line ends.
    package static func frame(_ name: String, _ data: [UInt8]) -> [UInt8] {
        precondition(!name.utf8.contains { $0 == lineFeed || $0 == carriageReturn }, "a name of one line")
        var frame = Array("event: \(name)\n".utf8)
        frame.reserveCapacity(frame.count + data.count + 16)
        for line in lines(data) {
            frame += "data: ".utf8
            frame += line
            frame.append(lineFeed)
        }
        frame.append(lineFeed)
        return frame
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private static func lines(_ data: [UInt8]) -> [ArraySlice<UInt8>] {
        data.split(omittingEmptySubsequences: false) { $0 == lineFeed || $0 == carriageReturn }
    }
}
