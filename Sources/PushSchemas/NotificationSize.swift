/// The fields of a notification in Protobuf's binary form, at all depths, counted before it is decoded.
///
/// A decoder allocates for a field of two bytes, and copies part of a message whenever it comes again. So the bytes
/// alone do not bound the cost of a record; these numbers do. Counting reads each byte once and allocates nothing.
struct NotificationSize: Equatable {
    /// The most fields. A payload has room for about two thousand values; the others are for 256 localizations of 16
    /// each. [ours]
    static let fieldLimit = 2048 + 256 * 16
    /// The most repetitions of messages that stand once in the message around them. [ours]
    static let repetitionLimit = 16
    /// The deepest nesting that is looked at; SwiftProtobuf decodes no deeper.
    private static let depthLimit = 100

    /// Fields, without the parts of which each member of an object and each value of a list consists.
    private(set) var fields = 0
    /// Messages that stand once in the message around them, and came again: they are merged.
    private(set) var repetitions = 0

    /// More than allowed. Counting ends there.
    var isOver: Bool { fields > Self.fieldLimit || repetitions > Self.repetitionLimit }

    /// Counts a notification, or all that stands in several parts of it. Malformed bytes are counted up to the fault.
    mutating func count(_ notification: UnsafeRawBufferPointer) {
        count(notification, as: .notification, depth: 1)
    }

    /// Counts one more part, whatever is in it.
    mutating func countPart() { fields += 1 }

    private mutating func count(_ bytes: UnsafeRawBufferPointer, as part: Part, depth: Int) {
        var cursor = ProtobufCursor(bytes)
        var free = part.freeFields
        var seen: UInt64 = 0
        while !isOver, let tag = cursor.readTag() {
            if free > 0 { free -= 1 } else { fields += 1 }
            guard tag.wireType == .delimited, let (nested, isSingular) = part.nested(in: tag.field) else {
                guard cursor.skip(tag) else { return }
                continue
            }
            guard let inner = cursor.readDelimited() else { return }
            if isSingular {
                // Numbers of nested fields are small.
                let bit = UInt64(1) << UInt64(tag.field)
                if seen & bit != 0 { repetitions += 1 }
                seen |= bit
            }
            if depth < Self.depthLimit { count(inner, as: nested, depth: depth + 1) }
        }
    }

    /// The messages that a notification consists of; a test holds them against the generated ones.
    private enum Part {
        case notification
        case liveActivity
        /// `google.protobuf.Struct`, its entries, `Value` and `ListValue`.
        case object
        case member
        case value
        case list
        case localization
        /// A message without others in it.
        case plain

        /// Fields that belong to one value, and are not counted.
        var freeFields: Int {
            switch self {
            case .member, .localization: 2
            case .value: 1
            default: 0
            }
        }

        /// The message in a field; nil: another kind of field.
        func nested(in field: UInt32) -> (part: Part, isSingular: Bool)? {
            switch (self, field) {
            case (.notification, 1...3): (.plain, true)
            case (.notification, 12): (.liveActivity, true)
            case (.notification, 13), (.liveActivity, 3), (.liveActivity, 7): (.object, true)
            case (.notification, 14): (.localization, false)
            case (.localization, 2): (.plain, true)
            case (.object, 1): (.member, false)
            case (.member, 2): (.value, true)
            case (.value, 5): (.object, true)
            case (.value, 6): (.list, true)
            case (.list, 1): (.value, false)
            default: nil
            }
        }
    }
}
