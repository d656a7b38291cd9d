/// How far a harvester reads ahead of what is safe. Reading clears the list ([13]), so this is what a kill can lose.
public enum HarvestLimits {
    /// Most plaintext handed to the broker at once; the next waits until all of it is acknowledged.
    public static let batchBytes = 64 << 10

    /// Asked for the socket's receive buffer. Linux makes twice that of it, the whole of which may hold unread data.
    public static let socketBufferBytes = 32 << 10

    /// Most ciphertext taken from the socket at once: with the record that was begun before it fills no more than a batch.
    public static let socketReadBytes = batchBytes - recordBytes

    /// A TLS record with what ciphers add to it (RFC 8446 §5.2): decrypted only when it is whole.
    private static let recordBytes = (16 << 10) + 512

    /// The longest tuple whose length makes sense, of which a part may have been read: a token of 100 bytes.
    private static let tupleBytes = 106

    /// The most that a kill can lose of what this machine has taken from the service: the batch without acknowledgement, what
    /// the socket's buffer holds, and the beginnings of a record and of a tuple.
    ///
    /// In tuples of 38 bytes: 3,896. It does not count what never left the service: where that clears a list at the connect,
    /// a connection that ends early loses the rest of the list, whoever ends it.
    public static let readAheadBytes = batchBytes + 2 * socketBufferBytes + recordBytes + tupleBytes
}
