import APNsProtocol
import HTTP2Transport
import NIOCore

/// Every limit of the sandbox in one place, so that nothing a peer or a caller sends makes it grow.
enum SandboxLimits {
    /// Devices a topic can have. An index fits into 24 bits, and the last one is left out so that no packed
    /// (device, generation, mark) has all its bits set: see ``AcceptedPairs``.
    static let devices = 1...(1 << 24) - 1

    /// Pairs of (token, mark) remembered per topic: three quarters of 2^25 slots of 8 bytes, 256 MiB, and only if it
    /// comes to that.
    static let rememberedPairs = 3 << 23

    /// Acceptances remembered in order per topic: 8 MiB.
    static let acceptedEntries = 1 << 20

    /// Memory for the notifications that were accepted last, all topics together; only if it comes to that.
    static let recentBytes = 32 << 20

    /// Acceptances of a topic that wait to be written to a file: 16 MiB, a second of a very fast provider.
    static let recordedRecords = 1 << 20

    /// Milliseconds between two times that waiting acceptances are written to a file.
    static let recordingMilliseconds: Int64 = 50

    /// Payload memory of one topic: what 32 bits of 16-byte units reach.
    static let storageBytes = 1 << 35

    /// Devices that are changed, or whose notifications are released, while a topic is locked: the gateway waits no
    /// longer than that takes, a few milliseconds.
    static let devicesPerSlice = 1 << 13

    /// Longest time that an offline device's notification is kept: 30 days [later].
    static let storageSeconds = UInt32(StorageTime.limit.components.seconds)

    /// The UTF-8 of a bundle ID: as much as a courier frame can say.
    static let topicBytes = 255

    /// Longest time that a peer may take for the TLS handshake.
    static let handshake = TimeAmount.seconds(10)

    /// Time that a finished connection waits for the peer to close. Closing at once while bytes of the peer are unread
    /// makes the kernel answer with a reset, which may overtake the error packet.
    static let linger = TimeAmount.seconds(10)

    /// Feedback tuples encoded at a time; the next ones wait until the socket takes more.
    static let feedbackTuplesPerWrite = 1024

    /// Ciphertext read from a socket at a time: little from one that says little, since each connection keeps the
    /// memory of its largest read.
    static let readBytes = 4096...65_536

    /// Reads as ``readBytes`` says.
    static var readAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(
            minimum: readBytes.lowerBound,
            initial: readBytes.lowerBound,
            maximum: readBytes.upperBound
        )
    }

    /// The same for connections to the provider API, where a read is answered before the next.
    static var apiReadAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(
            minimum: readBytes.lowerBound,
            initial: readBytes.lowerBound,
            maximum: readBytes.upperBound / 4
        )
    }

    /// Streams of a connection to the provider API: "with a certificate 500 to 1500" [field].
    static let apiStreams = 1000

    /// Streams of a connection whose provider token has not proven good [field].
    static let probationStreams = 1

    /// Bounds on the conduct of a provider. More than the longest payload is not looked at.
    static let apiPeer: PeerLimits = {
        var limits = PeerLimits.ofServer
        limits.bodyBytes = PayloadLimit.voip
        return limits
    }()

    /// Channels of an app: "10,000 channels per app and environment" [later].
    static let channels = 10_000

    /// Devices that can subscribe to one channel: they are walked through while the topic is locked.
    static let channelSubscribers = 1 << 16

    /// Broadcasts of a channel remembered in order.
    static let channelMarks = 1000

    /// The body of a control request.
    static let controlBodyBytes = 1 << 20

    /// Milliseconds an answer can be held back by a fault: an hour.
    static let answerDelayMilliseconds = 0...3_600_000

    /// Bytes that may wait in a topic's outbox for one connected device. One that does not read is dropped by then.
    static let courierPendingBytes = 4 << 20

    /// Notifications that a device's connection fetches at a time.
    static let courierBatch = 256

    /// The longest token that a device can present: 100 bytes [later].
    static let presentedTokenBytes = 100

    /// Longest time until a device presents a token or registers an app. It begins after the handshake.
    static let presentation = TimeAmount.seconds(10)

    /// Frames a device may send before a token of it was taken.
    static let framesBeforePresentation = 32

    /// Longest time that a device may leave unread what was written to it.
    static let courierStall = TimeAmount.seconds(30)

    /// Ciphertext read from a device's socket at a time.
    static let courierReadBytes = 16 * 1024

    /// Squares in one image of the page's field: enough for a screen of 1920 × 1080.
    static let fieldSquares = 1 << 21

    /// The edge of a square of the field, in devices: at most 128, so that the devices in one can be counted in 16
    /// bits.
    static let fieldCell = 1...128

    /// Pages that are open at once. What the last one costs a busy sandbox is little, but not nothing.
    static let eventStreams = 32

    /// Longest time that a page may leave data unread. Then its stream is closed.
    static let eventStreamStall = TimeAmount.seconds(30)

    /// Interval at which events are sent to the pages.
    static let eventInterval = TimeAmount.milliseconds(100)
}
