import APNsProtocol
import HTTP2Transport

/// The faults of a topic that strike the provider API, prepared for the code that carries them out.
struct RequestFaults: Sendable {
    /// Demands on connections that carry the topic's requests.
    struct Shape: Sendable, Equatable {
        /// Streams that may be open at once; nil: as many as without the fault.
        var streams: Int?
        /// Bytes of bodies that may be under way, on a stream and on the connection; nil: the protocol's default.
        var windowBytes: Int?
        /// Windows that are used up stay so.
        var stallsWindows = false
        /// A rejection leaves one stream, until the next success [field].
        var collapsesStreams = false

        /// Names of the faults that make it, but of the one that strikes with a rejection.
        var names: [Fault.Name] {
            [
                streams == nil ? nil : .streamLimit, windowBytes == nil ? nil : .windowSize,
                stallsWindows ? .windowStall : nil,
            ].compactMap { $0 }
        }
    }

    /// Nothing befalls requests: one comparison for those of a connection without faults.
    var isQuiet = true
    /// Considered for requests whose number on their connection is a multiple of this; `Int.max`: for none.
    var errorStep = Int.max
    var error: Fault.RequestError?
    /// As ``errorStep``.
    var resetStep = Int.max
    var reset: Fault.StreamReset?
    /// The fault that ends the connection's use after ``endAfter`` accepted notifications.
    var ending: Fault.Behaviour?
    var endAfter = Int.max
    /// Stop reading after so many were accepted, once for each arming.
    var stallAfter = Int.max
    var stallArming = 0
    var delayMilliseconds: Int64 = 0
    /// Answers wait a random time up to this, each one of its own.
    var shuffleMilliseconds: Int64 = 0
    var shape = Shape()

    /// Takes note of a fault that is on, of any name.
    mutating func add(_ entry: ArmedFaults.Entry) {
        switch entry.fault.behaviour {
        case .requestError(let error):
            self.error = error
            errorStep = Self.step(error.selection)
        case .streamReset(let reset):
            self.reset = reset
            resetStep = Self.step(reset.selection)
        case .closeAfter(let count), .resetAfter(let count), .shutdownAfter(let count), .silenceAfter(let count),
            .muteAfter(let count):
            end(entry.fault.behaviour, after: count)
        case .goAwayAfter(let goAway):
            end(entry.fault.behaviour, after: goAway.count)
        case .stallAfter(let count, _):
            stallAfter = count
            stallArming = entry.arming
        case .answerDelay(let milliseconds):
            delayMilliseconds = milliseconds
        case .answerShuffle(let milliseconds):
            shuffleMilliseconds = milliseconds
        case .streamLimit(let count):
            shape.streams = count
            return
        case .windowSize(let bytes):
            shape.windowBytes = bytes
            return
        case .windowStall:
            shape.stallsWindows = true
            return
        case .streamCollapse:
            shape.collapsesStreams = true
        case .connectRateLimit, .connectionLimit, .errorResponse, .feedbackCut, .refuseCertificates, .refuseConnects,
            .refuseHandshakes, .roundTrip, .sentinelSilence, .slowReader, .tokenClock:
            return
        }
        isQuiet = false
    }

    /// Of two with the same count the first by name is carried out.
    private mutating func end(_ behaviour: Fault.Behaviour, after count: Int) {
        guard count < endAfter else { return }
        (ending, endAfter) = (behaviour, count)
    }

    private static func step(_ selection: Fault.Refusal.Selection) -> Int {
        if case .every(let step) = selection { step } else { 1 }
    }
}
