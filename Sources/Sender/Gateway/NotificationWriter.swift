import APNsProtocol
import PipelineCore
import RequestRules

/// Hands notifications with one content to the transport of their topic, encoding what they share once.
struct NotificationWriter: ~Copyable {
    private let lanes: AppLanes
    private let content: NotificationContent
    private let isLone: Bool
    private var template: FrameTemplate?
    /// The content's number among those of the topic's lane over HTTP/2.
    private var number: UInt32?

    /// - Parameters:
    ///   - isLone: there is one notification only: what it shares is not worth keeping.
    ///   - unixMilliseconds: now; asked for only if the content says no expiration.
    init(
        to lanes: AppLanes,
        _ content: NotificationContent,
        isLone: Bool,
        unixMilliseconds: @autoclosure () -> Int64
    ) {
        var content = content
        if content.expiration == nil {
            content.expiration = lanes.topic.defaultExpiration(unixMilliseconds: unixMilliseconds())
        }
        self.lanes = lanes
        self.content = content
        self.isLone = isLone
    }

    deinit {
        if let number, case .streams(let lane) = lanes.way { lane.endContent(number) }
    }

    /// Appends a notification to what waits for its token's connection.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    @inline(__always)
    mutating func append(_ reference: NotificationReference, token: UnsafeRawBufferPointer, checksum: UInt32) {
        switch lanes.way {
        case .binary(let lanes): append(reference, token: token, checksum: checksum, to: lanes)
        case .streams(let lane): append(reference, token: token, checksum: checksum, to: lane)
        }
    }

    private mutating func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        to lane: StreamLane
    ) {
        let number = number ?? lane.beginContent(StreamContent(content, bundleID: lane.topic.bundleID))
        self.number = number
        lane.append(reference, token: token, checksum: checksum, content: number)
    }

    @inline(__always)
    private mutating func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        to lanes: BinaryLanes
    ) {
        guard !isLone else {
            return lanes.append(
                reference,
                token: token,
                checksum: checksum,
                payload: content.payload,
                expiration: expiration,
                priority: priority
            )
        }
        if template?.tokenBytes != token.count {
            template = FrameTemplate(
                tokenBytes: token.count,
                payload: content.payload,
                expiration: expiration,
                priority: priority
            )
        }
        if let template { lanes.append(reference, token: token, checksum: checksum, template: template) }
    }

    /// Of the binary interface.
    private var priority: NotificationPriority {
        guard case .binary(let priority) = content.terms else {
            preconditionFailure("a request of an environment with the binary interface is judged for it")
        }
        return priority
    }

    /// Of the binary interface, where a default always stands for what a request does not say.
    private var expiration: UInt32 {
        guard let expiration = content.expiration else {
            preconditionFailure("an app of an environment with the binary interface has a default")
        }
        return expiration
    }
}
