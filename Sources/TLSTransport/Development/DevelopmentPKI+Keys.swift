extension DevelopmentPKI {
    /// Reads a key that signs provider tokens; one that is not there is made and written. The copy of a key of the
    /// first team is made the same as the key.
    ///
    /// - Parameters:
    ///   - id: letters and digits.
    ///   - folder: as of ``providerKeyFile(_:folder:)``; letters and digits.
    /// - Throws: ``TLSConfigurationError`` with the file's name.
    public func completeProviderKey(_ id: String, folder: String?) throws(TLSConfigurationError) -> ProviderKey {
        let key = try writtenKey(providerKeyFile(id, folder: folder), folder: folder)
        let copy = providerKeyCopy(id)
        let isCopied = FileAccess.exists(copy) && (try? ProviderKey(file: copy)) == key
        if folder == nil, !isCopied { try key.writePEM(to: copy) }
        return key
    }

    private func writtenKey(_ file: String, folder: String?) throws(TLSConfigurationError) -> ProviderKey {
        guard !FileAccess.exists(file) else { return try ProviderKey(file: file) }
        try FileAccess.makeDirectory(folder.map { "\(keysDirectory)/\($0)" } ?? keysDirectory)
        let key = try ProviderKey.generate()
        try key.writePEM(to: file)
        return key
    }
}
