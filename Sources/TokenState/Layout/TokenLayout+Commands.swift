import RedisClient

// The commands about the layout's value in Redis.

extension TokenLayout {
    static let slot = RedisSlot(key: name)

    /// Writes the command that reads the value.
    static func writeRead(into writer: inout RedisCommandWriter) {
        writer.command("GET", argumentCount: 1)
        writer.argument(name)
    }

    /// Writes the command that writes the value if there is none.
    func writeCreation(into writer: inout RedisCommandWriter) {
        writer.command("SET", argumentCount: 3)
        writer.argument(Self.name)
        writer.argument(text)
        writer.argument("NX")
    }
}
