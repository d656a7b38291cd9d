/// Follows the framing of a stream without judging or keeping any of it. Counts the notifications that a gateway
/// discards after an error. Needs a few bytes of memory whatever the frames announce.
struct FrameFollower: Sendable {
    /// The part of the frame after the bytes being skipped.
    private enum Step {
        case command
        /// The four length bytes of command 2; the frame ends after the announced bytes.
        case frameLength
        case tokenLength
        /// The frame ends after the announced bytes.
        case payloadLength
        /// An unknown command was met: the beginning of the next frame cannot be known.
        case lost
    }

    /// Frames whose last byte was seen.
    private(set) var wholeFrames = 0

    private var step = Step.command
    /// Bytes to pass over before ``step``.
    private var skipBytes = 0
    /// The length field being read, and the number of its missing bytes.
    private var field = 0
    private var missingFieldBytes = 0
    /// The frame ends where the skipping ends.
    private var endsFrame = false

    mutating func follow(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while true {
            let skipped = min(skipBytes, bytes.count - offset)
            skipBytes -= skipped
            offset += skipped
            guard skipBytes == 0 else { return }
            if endsFrame {
                endsFrame = false
                wholeFrames += 1
            }
            guard step != .lost, offset < bytes.count else { return }
            followByte(bytes[offset])
            offset += 1
        }
    }

    private mutating func followByte(_ byte: UInt8) {
        guard step != .command else {
            beginFrame(command: byte)
            return
        }
        field = field << 8 | Int(byte)
        missingFieldBytes -= 1
        guard missingFieldBytes == 0 else { return }
        skipBytes = field
        if step == .tokenLength {
            expect(.payloadLength, fieldBytes: 2)
        } else {
            endsFrame = true
            expect(.command, fieldBytes: 0)
        }
    }

    private mutating func beginFrame(command: UInt8) {
        switch command {
        case 0:
            expect(.tokenLength, fieldBytes: 2)
        case 1:
            skipBytes = 8
            expect(.tokenLength, fieldBytes: 2)
        case 2:
            expect(.frameLength, fieldBytes: 4)
        default:
            expect(.lost, fieldBytes: 0)
        }
    }

    private mutating func expect(_ step: Step, fieldBytes: Int) {
        self.step = step
        field = 0
        missingFieldBytes = fieldBytes
    }
}
