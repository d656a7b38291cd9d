import Foundation

/// Acceptances by the title of their alert, which tells in which language each was sent.
///
/// A payload without a title is not counted; neither is one whose key `title` has escapes, or that is no JSON.
struct TitleCounts: Sendable, Equatable {
    /// As far as a title needs it.
    private struct Payload: Decodable {
        struct Aps: Decodable {
            struct Alert: Decodable {
                var title: String?
            }

            var alert: Alert?
        }

        var aps: Aps?
    }

    /// Titles that are told apart. Notifications of further ones are not counted.
    static let limit = 1000

    private static let key = Array(#""title""#.utf8)

    let isCounting: Bool
    private(set) var counts: [String: Int] = [:]

    init(isCounting: Bool) {
        self.isCounting = isCounting
    }

    /// - Parameter payload: valid during the call.
    mutating func count(_ payload: UnsafeRawBufferPointer) {
        // Most payloads are not looked at any closer, and none is copied for that: counting is under the topic's lock.
        guard Self.mentionsTitle(payload) else { return }
        // Fails where the alert is a plain string.
        let decoded = try? JSONDecoder().decode(Payload.self, from: Data(payload))
        guard let title = decoded?.aps?.alert?.title else { return }
        guard counts[title] != nil || counts.count < Self.limit else { return }
        counts[title, default: 0] += 1
    }

    private static func mentionsTitle(_ payload: UnsafeRawBufferPointer) -> Bool {
        guard let base = payload.baseAddress else { return false }
        var offset = 0
        while let quote = memchr(base + offset, Int32(key[0]), payload.count - offset) {
            offset = UnsafeRawPointer(quote) - base
            if payload[offset...].starts(with: key) { return true }
            offset += 1
        }
        return false
    }
}
