import Foundation

/// Files with a key that all users of this machine can read.
enum ExposedFile {
    /// Fit to follow the file's name.
    static let remark = "everybody on this machine can read it"

    /// The file's mode lets others than its owner and group read it. Links count as what they lead to.
    static func isExposed(_ file: String) -> Bool {
        let target = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: target)
        guard let mode = attributes?[.posixPermissions] as? Int else { return false }
        return mode & 0o004 != 0
    }
}
