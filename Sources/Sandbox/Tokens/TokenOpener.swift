/// Opens the tokens of all topics: one decryption tells the topic, too.
///
/// Belongs to one thread, as the mints in it do.
struct TokenOpener {
    /// One for each topic, all of one key and environment, so that any of them decrypts for all.
    private let mints: [TokenMint]
    private let topics: [UInt64: Int]

    /// - Parameter mints: by the topics' numbers; one at least.
    init(mints: [TokenMint]) {
        precondition(!mints.isEmpty, "a service without topics")
        self.mints = mints
        topics = Dictionary(mints.enumerated().map { ($1.topicHash, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The number of the topic and the app instance that a token was minted for, or `nil` if it was not minted by any
    /// of the mints: see ``TokenMint/open(_:)``.
    ///
    /// - Parameter token: valid during the call.
    func open(_ token: UnsafeRawBufferPointer) -> (topic: Int, instance: AppInstance)? {
        guard token.count == TokenMint.tokenBytes || mints[0].hasGenuineTail(token) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: TokenMint.tokenBytes, alignment: 8) { plain in
            plain.copyMemory(from: UnsafeRawBufferPointer(rebasing: token[..<TokenMint.tokenBytes]))
            mints[0].cipher.decrypt(plain)
            guard let start = plain.baseAddress, let topic = topics[TokenMint.topicHash(in: start)],
                let instance = mints[topic].instance(in: start, tokenBytes: token.count)
            else { return nil }
            return (topic, instance)
        }
    }
}
