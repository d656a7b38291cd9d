/// The hexadecimal digits in a token as apps print it, `<efc7 0a…>`; another text is taken as it is.
public enum PrintedToken {
    public static func digits(_ text: String) -> String {
        var text = text
        return String(decoding: text.withUTF8 { digits(UnsafeRawBufferPointer($0)) }, as: UTF8.self)
    }

    static func digits(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        guard text.first == UInt8(ascii: "<"), text.last == UInt8(ascii: ">") else { return Array(text) }
        return text.dropFirst().dropLast().filter { $0 != UInt8(ascii: " ") }
    }
}
