import HTTP2Transport

/// The SETTINGS and windows of one connection, as its state and the faults of its topics want them.
struct APIShaping {
    /// The protocol's default for windows.
    private static let windowBytes = 65_535

    /// By the topic's number.
    private var shapes: [RequestFaults.Shape]
    private var shape = RequestFaults.Shape()
    /// The client may open one stream only, until its provider token has proven good: "with a token 1 until the first
    /// success, then about 1000" [field].
    private var isProbation: Bool
    /// A rejection has left one stream, by a fault.
    private var isCollapsed = false

    private var announcedStreams = 0
    private var announcedWindowBytes = windowBytes
    private var returnsWindow = true
    private var isDue = true

    init(topics: Int, isProbation: Bool) {
        shapes = [RequestFaults.Shape](repeating: RequestFaults.Shape(), count: topics)
        self.isProbation = isProbation
    }

    /// Takes note of the faults of a topic that the connection carries requests for. Those strike that are new here.
    @inline(__always)
    mutating func look(_ number: Int, _ faults: inout FaultPlan) {
        guard faults.requests.shape != shapes[number] else { return }
        change(number, &faults)
    }

    private mutating func change(_ number: Int, _ faults: inout FaultPlan) {
        let (old, new) = (shapes[number], faults.requests.shape)
        shapes[number] = new
        for name in new.names where !old.names.contains(name) { faults.strike(name) }
        shape = shapes.reduce(into: RequestFaults.Shape()) { tightest, shape in
            tightest.streams = Self.least(tightest.streams, shape.streams)
            tightest.windowBytes = Self.least(tightest.windowBytes, shape.windowBytes)
            if shape.stallsWindows { tightest.stallsWindows = true }
        }
        isDue = true
    }

    /// A request was answered.
    @inline(__always)
    mutating func noteRuling(_ ruling: APIRuling, collapses: Bool) {
        guard isProbation || isCollapsed || collapses else { return }
        if collapses { isCollapsed = true }
        if case .accepted = ruling { (isProbation, isCollapsed) = (false, false) }
        isDue = true
    }

    /// The settings to begin with.
    mutating func firstSettings() -> HTTP2Settings {
        announcedStreams = streams
        return HTTP2Settings(maxConcurrentStreams: streams)
    }

    /// Tells the client what has changed.
    mutating func apply(to http: HTTP2ServerSession) {
        guard isDue else { return }
        isDue = false
        if streams != announcedStreams {
            announcedStreams = streams
            http.send(HTTP2Settings(maxConcurrentStreams: streams))
        }
        let windowBytes = shape.windowBytes ?? Self.windowBytes
        if windowBytes != announcedWindowBytes {
            announcedWindowBytes = windowBytes
            http.send(HTTP2Settings(streamWindowBytes: windowBytes))
            http.setConnectionWindow(bytes: windowBytes)
        }
        if returnsWindow == shape.stallsWindows {
            returnsWindow = !shape.stallsWindows
            http.returnsWindow = returnsWindow
        }
    }

    private var streams: Int {
        let allowed = shape.streams ?? SandboxLimits.apiStreams
        return isProbation || isCollapsed ? min(allowed, SandboxLimits.probationStreams) : allowed
    }

    private static func least(_ left: Int?, _ right: Int?) -> Int? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}
