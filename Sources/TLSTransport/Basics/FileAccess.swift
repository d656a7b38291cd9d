import Glibc

/// Reads and writes whole files, with the system's messages for errors. Blocking: for start-up and tools.
enum FileAccess {
    /// Certificates, keys and bundles of roots are far smaller; a device or a log given by mistake is not read whole.
    static let limitBytes = 16 << 20

    static func read(_ path: String) throws(TLSConfigurationError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TLSConfigurationError(.unreadable(Self.lastError()), file: path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw TLSConfigurationError(.unreadable(Self.lastError()), file: path)
            }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= Self.limitBytes else {
                throw TLSConfigurationError(.unreadable("larger than \(Self.limitBytes) bytes"), file: path)
            }
        }
    }

    /// Writes a file of the given mode, whole or not at all. A reader never sees half of it, and a secret is never
    /// readable by others, not even for a moment.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(TLSConfigurationError) {
        let temporary = "\(path).\(getpid()).tmp"
        // A left-over of a crash would keep its own mode.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw TLSConfigurationError(.unwritable(Self.lastError()), file: path) }
        var failure = Self.writeAll(bytes, to: descriptor)
        if close(descriptor) != 0, failure == nil { failure = Self.lastError() }
        if failure == nil, rename(temporary, path) != 0 { failure = Self.lastError() }
        if let failure {
            unlink(temporary)
            throw TLSConfigurationError(.unwritable(failure), file: path)
        }
    }

    static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    /// Makes the directory and those above it, as `mkdir -p`; existing ones are left as they are.
    static func makeDirectory(_ path: String) throws(TLSConfigurationError) {
        var prefix = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            prefix += "/\(part)"
            guard mkdir(prefix, 0o755) == 0 || errno == EEXIST else {
                throw TLSConfigurationError(.unwritable(Self.lastError()), file: path)
            }
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> String? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                return Self.lastError()
            }
            rest = rest.dropFirst(count)
        }
        return nil
    }

    private static func lastError() -> String {
        String(cString: strerror(errno))
    }
}
