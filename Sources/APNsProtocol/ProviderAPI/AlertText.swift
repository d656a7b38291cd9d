/// A text of a payload's alert that the device shows, with its place.
///
/// Those are the alert itself if it is a string, and of an object title, subtitle, body, their arguments and
/// `summary-arg` [13] [later]; Live Activities may have arguments inside title and body. No text are keys of
/// localized strings, names of files, and the app's own values.
public struct AlertText {
    /// The place, such as `aps.alert.loc-args[1]`. It is made of fixed names, never of the payload's words.
    public struct Path: Sendable, Equatable, CustomStringConvertible {
        /// Member of the alert; nil: the alert itself is the text.
        fileprivate(set) var member: String?
        /// The text stands in the arguments inside the member.
        fileprivate(set) var isInside = false
        /// Place in an array; nil: the text is no element.
        fileprivate(set) var index: Int?

        public var description: String {
            let member = member.map { ".\($0)" } ?? ""
            return "aps.alert\(member)\(isInside ? ".loc-args" : "")\(index.map { "[\($0)]" } ?? "")"
        }
    }

    public let path: Path
    /// Escapes are resolved.
    public let text: String

    /// Calls `body` for each text of a payload, in order, members that come twice included.
    ///
    /// - Parameters:
    ///   - payload: accepted by ``PayloadScanner``; of other bytes only the texts before the first fault are found.
    public static func forEach(in payload: UnsafeRawBufferPointer, _ body: (AlertText) -> Void) {
        var reader = JSONReader(payload)
        do throws(JSONFault) {
            try reader.readObject { reader, key throws(JSONFault) in
                guard key == "aps", reader.nextByte() == UInt8(ascii: "{") else { return try reader.skipValue() }
                try reader.readObject { reader, key throws(JSONFault) in
                    guard key == "alert" else { return try reader.skipValue() }
                    try readAlert(&reader, body)
                }
            }
        } catch {
            // Other bytes than a payload are judged by its scanner.
        }
    }

    private static func readAlert(_ reader: inout JSONReader, _ body: (AlertText) -> Void) throws(JSONFault) {
        guard reader.nextByte() == UInt8(ascii: "{") else { return try readText(&reader, Path(), body) }
        try reader.readObject { reader, key throws(JSONFault) in
            let path = Path(member: key)
            switch key {
            case "title", "subtitle", "body": try readMember(&reader, path, body)
            case "loc-args", "title-loc-args", "subtitle-loc-args": try readArguments(&reader, path, body)
            case "summary-arg": try readText(&reader, path, body)
            default: try reader.skipValue()
            }
        }
    }

    /// Reads a text, or an object that has arguments.
    private static func readMember(
        _ reader: inout JSONReader,
        _ path: Path,
        _ body: (AlertText) -> Void
    ) throws(JSONFault) {
        guard reader.nextByte() == UInt8(ascii: "{") else { return try readText(&reader, path, body) }
        try reader.readObject { reader, key throws(JSONFault) in
            guard key == "loc-args" else { return try reader.skipValue() }
            try readArguments(&reader, Path(member: path.member, isInside: true), body)
        }
    }

    private static func readArguments(
        _ reader: inout JSONReader,
        _ path: Path,
        _ body: (AlertText) -> Void
    ) throws(JSONFault) {
        guard reader.nextByte() == UInt8(ascii: "[") else { return try reader.skipValue() }
        var path = path
        var index = 0
        try reader.readArray { reader throws(JSONFault) in
            path.index = index
            index += 1
            try readText(&reader, path, body)
        }
    }

    private static func readText(
        _ reader: inout JSONReader,
        _ path: Path,
        _ body: (AlertText) -> Void
    ) throws(JSONFault) {
        guard reader.nextByte() == UInt8(ascii: "\"") else { return try reader.skipValue() }
        body(AlertText(path: path, text: try reader.readString()))
    }
}
