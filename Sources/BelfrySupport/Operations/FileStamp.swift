import Glibc

/// Tells one state of a file from another without reading it.
package struct FileStamp: Equatable, Sendable {
    let device: UInt64
    let inode: UInt64
    let sizeBytes: Int64
    /// The time of the last change of the content.
    let modifiedNanoseconds: Int64
    let isRegularFile: Bool
    /// The mode lets others than owner and group read it.
    let isExposed: Bool

    /// The present state of a file, or of what a link leads to; nil when there is none.
    package init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        sizeBytes = Int64(status.st_size)
        modifiedNanoseconds = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
        isExposed = status.st_mode & S_IROTH != 0
    }
}
