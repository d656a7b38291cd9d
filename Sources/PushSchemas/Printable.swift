/// A publisher's name as it may stand in a message: short and harmless, else an ellipsis.
package func printable(_ name: String) -> String {
    let isHarmless = name.utf8.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "'") }
    return isHarmless && (1...64).contains(name.utf8.count) ? name : "…"
}
