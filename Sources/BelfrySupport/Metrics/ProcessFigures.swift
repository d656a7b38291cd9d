import Glibc

/// Memory, processor time and descriptors of a process, as Linux tells them.
public struct ProcessFigures: Sendable, Equatable {
    public var residentBytes: Int
    public var virtualBytes: Int
    /// User and system time since the start, seconds.
    public var cpuSeconds: Double
    /// UNIX time, seconds.
    public var startedAt: Double
    public var threads: Int
    /// Nil: it could not be counted.
    public var openDescriptors: Int?
    /// Nil: it is not known, or there is no limit.
    public var mostDescriptors: Int?
}

extension ProcessFigures {
    /// The units of the kernel's files.
    struct Units {
        var ticksPerSecond: Double
        var pageBytes: Int
    }

    /// Reads the figures out of the texts of `/proc/self/stat` and `/proc/stat` (proc(5)).
    ///
    /// - Returns: nil if one of them is not as expected.
    init?(ownStat: String, systemStat: String, units: Units) {
        // The name of the program stands in brackets, and may hold brackets and spaces itself.
        guard let end = ownStat.lastIndex(of: ")") else { return nil }
        let fields = ownStat[ownStat.index(after: end)...].split { $0.isWhitespace }
        // The first of these fields is number 3 of the manual.
        func number(_ field: Int) -> Double? { fields.count > field - 3 ? Double(fields[field - 3]) : nil }
        let bootLine = systemStat.split(separator: "\n").first { $0.hasPrefix("btime ") }
        guard let user = number(14), let system = number(15), let threads = number(20), let started = number(22),
            let virtual = number(23), let pages = number(24),
            let bootedAt = bootLine.flatMap({ Double($0.dropFirst("btime ".count)) })
        else { return nil }
        residentBytes = Int(pages) * units.pageBytes
        virtualBytes = Int(virtual)
        cpuSeconds = (user + system) / units.ticksPerSecond
        startedAt = bootedAt + started / units.ticksPerSecond
        self.threads = Int(threads)
    }

    /// The figures of this process now; nil where there is no `/proc`. Reads files, which are never on a disk.
    static func ofThisProcess() -> ProcessFigures? {
        guard let own = text(of: "/proc/self/stat"), let system = text(of: "/proc/stat") else { return nil }
        let units = Units(ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))), pageBytes: sysconf(Int32(_SC_PAGESIZE)))
        var figures = ProcessFigures(ownStat: own, systemStat: system, units: units)
        figures?.openDescriptors = openDescriptorCount()
        figures?.mostDescriptors = descriptorLimit()
        return figures
    }

    private static func text(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(file, &piece, piece.count)
            guard count >= 0 else { return nil }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece.prefix(count)
        }
    }

    private static func openDescriptorCount() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without the two dots, and the descriptor of the folder.
        return max(0, count - 3)
    }

    private static func descriptorLimit() -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == rlim_t.max ? nil : Int(clamping: limit.rlim_cur)
    }
}
