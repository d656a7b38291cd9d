import Foundation

/// The repository that the tests belong to.
public enum Repository {
    /// Its top folder.
    public static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().standardizedFileURL
}
