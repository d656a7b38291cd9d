import Foundation
import Glibc

/// The memory and descriptors of a process at one moment.
struct SoakSample: Equatable, Sendable {
    /// Since the beginning of the run.
    var seconds: Double
    /// Memory in RAM.
    var residentBytes: Int
    /// Open ones.
    var descriptors: Int

    init(seconds: Double, residentBytes: Int, descriptors: Int) {
        self.seconds = seconds
        self.residentBytes = residentBytes
        self.descriptors = descriptors
    }

    /// Looks at a process of this machine. Nil: it has ended.
    init?(of process: Int32, seconds: Double) {
        guard
            let pages = (try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8))?
                .split(separator: " ").dropFirst().first.flatMap({ Int($0) }),
            let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        else { return nil }
        self.init(
            seconds: seconds,
            residentBytes: pages * Int(sysconf(Int32(_SC_PAGESIZE))),
            descriptors: descriptors
        )
    }
}
