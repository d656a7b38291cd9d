import APNsProtocol
import TestSupport

@testable import PipelineCore

/// A queue with the contents of its caller.
final class StreamQueueBox {
    var queue: StreamQueue
    /// Contents in use, by number.
    private var contents: Set<UInt32> = []
    private var latest: UInt32?

    init(number: UInt16, limits: StreamLimits) {
        queue = StreamQueue(number: number, limits: limits)
    }

    var isDrained: Bool { queue.isDrained }

    var unsettledCount: Int { queue.waitingCount + queue.inFlightCount }

    /// All contents were given back.
    var contentsAreFree: Bool {
        if let latest { queue.releaseContent(latest) }
        latest = nil
        freeContents()
        return contents.isEmpty
    }

    func append(ordinal: UInt32, token: UInt32, assignment: UInt32, random: inout SeededGenerator) {
        if latest == nil || random.chance(30) {
            if let latest { queue.releaseContent(latest) }
            let content = queue.addContent()
            precondition(contents.insert(content).inserted, "a content was given away twice")
            latest = content
        }
        guard let latest else { return }
        // Two tokens share a checksum.
        StreamProbe.token(token, bytes: 32 + Int(token % 3) * 20).withUnsafeBytes { bytes in
            queue.append(
                .init(assignment: assignment, record: 0, token: ordinal),
                token: bytes,
                checksum: token / 4,
                content: latest
            )
        }
    }

    func release(_ slot: Int) {
        queue.release(slot)
        freeContents()
    }

    func freeContents() {
        while let content = queue.takeUnusedContent() { contents.remove(content) }
    }

    func discard(token: UInt32) -> [UInt32] {
        StreamProbe.token(token, bytes: 32 + Int(token % 3) * 20)
            .withUnsafeBytes { queue.discard(checksum: token / 4, token: $0) }
            .map(\.token)
    }
}
