import Foundation

/// Files and names of a directory of credentials.
enum CredentialFiles {
    /// The names, sorted, without those that begin with a full stop: in mounted secrets these lead to the same files
    /// again.
    static func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Links count as what they lead to.
    static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }

    static func bytes(of file: String) throws(CertificateDirectoryError) -> [UInt8] {
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw CertificateDirectoryError(file: file, reason: "the file cannot be read")
        }
        return [UInt8](bytes)
    }

    /// A path, or a name, up to its ending.
    static func stem(of file: String) -> String {
        guard let dot = file.lastIndex(of: "."), !file[dot...].contains("/") else { return file }
        return String(file[..<dot])
    }

    /// The last part of a path.
    static func name(of file: String) -> String {
        file.lastIndex(of: "/").map { String(file[file.index(after: $0)...]) } ?? file
    }
}
