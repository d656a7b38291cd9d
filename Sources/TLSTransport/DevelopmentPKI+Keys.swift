extension DevelopmentPKI {
    /// Reads a key that signs provider tokens; one that is not there is made and written.
    ///
    /// - Parameters:
    ///   - id: letters and digits.
    ///   - folder: as of ``providerKeyFile(_:folder:)``; letters and digits.
    /// - Throws: ``TLSConfigurationError`` with the file's name.
    public func completeProviderKey(_ id: String, folder: String?) throws(TLSConfigurationError) -> ProviderKey {
        let file = providerKeyFile(id, folder: folder)
        guard !FileAccess.exists(file) else { return try ProviderKey(file: file) }
        try FileAccess.makeDirectory(folder.map { "\(keysDirectory)/\($0)" } ?? keysDirectory)
        let key = try ProviderKey.generate()
        try key.writePEM(to: file)
        return key
    }
}
