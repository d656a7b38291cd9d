/// An error that makes a courier stream unreadable. Nothing after it can be trusted.
enum CourierMalformation: Error, Equatable, Sendable {
    /// A frame's header announces more than ``CourierFrame/limitBytes``.
    case tooLong(bytes: Int)
    /// No such type, or one that only the other side may send.
    case unknownType(UInt8)
    /// The data ends before a field does.
    case truncated(CourierFrame.Kind)
    /// A field that must hold something is empty.
    case emptyField(CourierFrame.Kind)
    /// A topic or token of more than 255 bytes.
    case fieldTooLong(CourierFrame.Kind)
    /// A text that is not UTF-8.
    case notText(CourierFrame.Kind)
    /// A refusal with a code that is not in the table.
    case unknownCode(UInt8)
}

extension CourierMalformation: CustomStringConvertible {
    var description: String {
        switch self {
        case .tooLong(let bytes): "a frame of \(bytes) bytes, \(CourierFrame.limitBytes) are allowed"
        case .unknownType(let type): "a frame of type \(type), which this side does not know"
        case .truncated(let kind): "\(kind): the data ends in the middle of a field"
        case .emptyField(let kind): "\(kind): topic or token is empty"
        case .fieldTooLong(let kind): "\(kind): topic or token has more than 255 bytes"
        case .notText(let kind): "\(kind): the text is not UTF-8"
        case .unknownCode(let code): "refused: code \(code) is not known"
        }
    }
}

/// Cuts a courier stream into frames, however the bytes arrive. Holds less than one frame between calls.
struct CourierFrameDecoder: Sendable {
    /// A whole frame whose data has not been looked at.
    struct Frame: Equatable, Sendable {
        let type: UInt8
        let data: [UInt8]
    }

    private var buffer: [UInt8] = []
    private var start = 0

    /// Bytes of a frame that is not complete yet.
    var bufferedBytes: Int { buffer.count - start }

    /// Takes the next bytes. To be followed by ``next()`` until that has nothing more.
    ///
    /// - Parameter bytes: valid during the call.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if start > 0 {
            buffer.removeFirst(start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next frame, or `nil` until more has come.
    ///
    /// - Throws: ``CourierMalformation/tooLong(bytes:)``, as soon as the header is there; again at each further call.
    mutating func next() throws(CourierMalformation) -> Frame? {
        guard bufferedBytes >= CourierFrame.headerBytes else { return nil }
        let length = Int(buffer[start + 1]) << 8 | Int(buffer[start + 2])
        let frameBytes = CourierFrame.headerBytes + length
        guard frameBytes <= CourierFrame.limitBytes else { throw .tooLong(bytes: frameBytes) }
        guard bufferedBytes >= frameBytes else { return nil }
        let data = Array(buffer[start + CourierFrame.headerBytes..<start + frameBytes])
        let frame = Frame(type: buffer[start], data: data)
        start += frameBytes
        return frame
    }
}
