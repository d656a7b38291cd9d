import APNsProtocol

/// Model of a gateway, written down from the protocol's description. It has all bytes of a stream at once, copies
/// everything, and cares for nothing but being right.
struct GatewayModel {
    let limits: GatewayLimits
    let refuse: (Received) -> APNsStatus?

    /// The reason that the model stops at a frame.
    private enum Stop: Error {
        case cutOff
        case refused(APNsStatus, identifier: UInt32)
    }

    func run(_ stream: [UInt8]) -> GatewayRun {
        var run = GatewayRun()
        var rest = stream[...]
        while let command = rest.first {
            do throws(Stop) {
                run.received.append(try notification(&rest))
            } catch {
                switch error {
                case .cutOff:
                    run.bufferedBytes = rest.count
                case .refused(let status, let identifier):
                    run.failure = ErrorResponse(status: status, identifier: identifier)
                    run.failedCommand = command
                    run.discarded = max(0, wholeFrames(rest) - 1)
                }
                return run
            }
        }
        return run
    }

    /// Takes one frame off the stream; leaves the stream alone when it throws.
    private func notification(_ stream: inout ArraySlice<UInt8>) throws(Stop) -> Received {
        var rest = stream
        let notification: Received
        switch try number(&rest, bytes: 1) {
        case 0: notification = try oldNotification(&rest, command: 0)
        case 1: notification = try oldNotification(&rest, command: 1)
        case 2: notification = try itemNotification(&rest)
        default: throw .refused(limits.protocolErrorStatus, identifier: 0)
        }
        if let status = refuse(notification) {
            throw .refused(status, identifier: notification.identifier)
        }
        stream = rest
        return notification
    }

    private func oldNotification(_ rest: inout ArraySlice<UInt8>, command: UInt8) throws(Stop) -> Received {
        let start = rest.startIndex - 1
        let identifier = command == 1 ? UInt32(try number(&rest, bytes: 4)) : 0
        let expiration = command == 1 ? UInt32(try number(&rest, bytes: 4)) : UInt32.max
        let tokenBytes = try number(&rest, bytes: 2)
        let tokenEnd = rest.startIndex + tokenBytes
        if tokenEnd + 2 - start > limits.frameLimitBytes {
            throw .refused(.invalidTokenSize, identifier: identifier)
        }
        let token = try take(&rest, tokenBytes)
        let payloadBytes = try number(&rest, bytes: 2)
        let tooLong = rest.startIndex + payloadBytes - start > limits.frameLimitBytes
        let payload = tooLong ? [] : try take(&rest, payloadBytes)
        if tokenBytes == 0 { throw .refused(.missingDeviceToken, identifier: identifier) }
        if !limits.tokenBytes.contains(tokenBytes) { throw .refused(.invalidTokenSize, identifier: identifier) }
        if payloadBytes == 0 { throw .refused(.missingPayload, identifier: identifier) }
        if payloadBytes > limits.payloadLimitBytes { throw .refused(.invalidPayloadSize, identifier: identifier) }
        return Received(
            command: command,
            identifier: identifier,
            expiration: expiration,
            priority: .immediate,
            token: token,
            payload: payload
        )
    }

    private func itemNotification(_ rest: inout ArraySlice<UInt8>) throws(Stop) -> Received {
        let length = try number(&rest, bytes: 4)
        if length + 5 > limits.frameLimitBytes { throw .refused(limits.protocolErrorStatus, identifier: 0) }
        var frame = try take(&rest, length)[...]
        var items: [Int: [UInt8]] = [:]
        func integer(_ item: Int) -> UInt32 {
            (items[item] ?? []).reduce(0) { $0 << 8 | UInt32($1) }
        }
        while !frame.isEmpty {
            let protocolError = Stop.refused(limits.protocolErrorStatus, identifier: integer(3))
            guard let id = try? number(&frame, bytes: 1), let length = try? number(&frame, bytes: 2),
                let data = try? take(&frame, length), (1...5).contains(id), items[id] == nil
            else { throw protocolError }
            switch id {
            case 1 where data.isEmpty: throw .refused(.missingDeviceToken, identifier: integer(3))
            case 1 where !limits.tokenBytes.contains(data.count):
                throw .refused(.invalidTokenSize, identifier: integer(3))
            case 2 where data.isEmpty: throw .refused(.missingPayload, identifier: integer(3))
            case 2 where data.count > limits.payloadLimitBytes:
                throw .refused(.invalidPayloadSize, identifier: integer(3))
            case 3 where data.count != 4, 4 where data.count != 4: throw protocolError
            case 5 where data != [10] && data != [5]: throw protocolError
            default: items[id] = data
            }
        }
        guard let token = items[1] else { throw .refused(.missingDeviceToken, identifier: integer(3)) }
        guard let payload = items[2] else { throw .refused(.missingPayload, identifier: integer(3)) }
        return Received(
            command: 2,
            identifier: integer(3),
            expiration: items[4] == nil ? .max : integer(4),
            priority: items[5] == [5] ? .powerSaving : .immediate,
            token: token,
            payload: payload
        )
    }

    private func wholeFrames(_ stream: ArraySlice<UInt8>) -> Int {
        var rest = stream
        var frames = 0
        do throws(Stop) {
            while !rest.isEmpty {
                switch try number(&rest, bytes: 1) {
                case 2:
                    _ = try take(&rest, try number(&rest, bytes: 4))
                case let command where command < 2:
                    _ = try take(&rest, command == 1 ? 8 : 0)
                    _ = try take(&rest, try number(&rest, bytes: 2))
                    _ = try take(&rest, try number(&rest, bytes: 2))
                default:
                    return frames
                }
                frames += 1
            }
        } catch {
            return frames
        }
        return frames
    }

    private func number(_ rest: inout ArraySlice<UInt8>, bytes: Int) throws(Stop) -> Int {
        try take(&rest, bytes).reduce(0) { $0 << 8 | Int($1) }
    }

    private func take(_ rest: inout ArraySlice<UInt8>, _ count: Int) throws(Stop) -> [UInt8] {
        guard rest.count >= count else { throw .cutOff }
        defer { rest = rest.dropFirst(count) }
        return [UInt8](rest.prefix(count))
    }
}
