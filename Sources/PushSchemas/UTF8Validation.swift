/// The bytes are well-formed UTF-8 (no overlong forms, no surrogates).
func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // Nearly all are ASCII; eight bytes a step keeps this off the profile.
    var index = 0
    while index &+ 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        if word & 0x8080_8080_8080_8080 != 0 { break }
        index &+= 8
    }
    while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
    if index == bytes.count { return true }
    return bytes.withMemoryRebound(to: UInt8.self) { (try? UTF8Span(validating: $0.span)) != nil }
}
