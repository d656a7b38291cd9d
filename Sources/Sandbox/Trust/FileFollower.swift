import Glibc

/// Tells one state of a file from another without reading it.
struct FollowedFileState: Equatable, Sendable {
    let inode: UInt64
    let sizeBytes: Int64
    /// The time of the last change of the content.
    let modifiedNanoseconds: Int64

    init(inode: UInt64, sizeBytes: Int64, modifiedNanoseconds: Int64) {
        self.inode = inode
        self.sizeBytes = sizeBytes
        self.modifiedNanoseconds = modifiedNanoseconds
    }

    /// The present state of a file; `nil` when there is none.
    init?(of file: String) {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        self.init(
            inode: UInt64(status.st_ino),
            sizeBytes: Int64(status.st_size),
            modifiedNanoseconds: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        )
    }
}

/// Decides when a list of revocations or of keys is read again: once for each state of its file that was met.
///
/// Pure. It is asked at every new connection, since looking at the file costs a microsecond and a handshake a thousand
/// times that: so a certificate is refused from the first connection after its revocation [ours]. Connections that are
/// open stay as they are [ours].
struct FileFollower: Equatable, Sendable {
    /// The action before the connection is taken.
    enum Action: Equatable, Sendable {
        /// The list in force is the one in the file, or all that is known of it.
        case keep
        /// The file is another one than when it was last looked at.
        case load
        /// There was a file and now there is none: say so, once. The list stays in force.
        case reportMissing
    }

    private var last: FollowedFileState?

    /// - Parameter stamp: the file's now, `nil` when there is none.
    mutating func observe(_ stamp: FollowedFileState?) -> Action {
        guard stamp != last else { return .keep }
        last = stamp
        return stamp == nil ? .reportMissing : .load
    }
}
