/// Frames written byte by byte from the protocol's description, on purpose without the encoder under test.
enum Frame {
    static func item(_ id: UInt8, _ data: [UInt8], lengthOverride: Int? = nil) -> [UInt8] {
        [id] + bigEndian(lengthOverride ?? data.count, bytes: 2) + data
    }

    static func command2(_ items: [[UInt8]], lengthOverride: Int? = nil) -> [UInt8] {
        let content = items.flatMap { $0 }
        return [2] + bigEndian(lengthOverride ?? content.count, bytes: 4) + content
    }

    static func command1(_ identifier: Int, expiration: Int, token: [UInt8], payload: [UInt8]) -> [UInt8] {
        [1] + bigEndian(identifier, bytes: 4) + bigEndian(expiration, bytes: 4) + counted(token) + counted(payload)
    }

    static func command0(token: [UInt8], payload: [UInt8]) -> [UInt8] {
        [0] + counted(token) + counted(payload)
    }

    static func counted(_ data: [UInt8]) -> [UInt8] {
        bigEndian(data.count, bytes: 2) + data
    }

    static func bigEndian(_ number: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}

/// The items of a well-formed frame, by name.
enum Item {
    static let token = Frame.item(1, Sample.token)
    static let payload = Frame.item(2, Sample.payload)
    static let expiration = Frame.item(4, Frame.bigEndian(1_700_000_000, bytes: 4))
    static let priority = Frame.item(5, [5])

    static func identifier(_ number: Int) -> [UInt8] {
        Frame.item(3, Frame.bigEndian(number, bytes: 4))
    }
}

enum Sample {
    static let token = [UInt8](1...32)
    static let payload = [UInt8](#"{"aps":{"alert":"hello"}}"#.utf8)
}

extension Array {
    /// Every order of the elements.
    var permutations: [[Element]] {
        guard count > 1 else { return [self] }
        return indices.flatMap { index -> [[Element]] in
            var others = self
            let first = others.remove(at: index)
            return others.permutations.map { [first] + $0 }
        }
    }
}
