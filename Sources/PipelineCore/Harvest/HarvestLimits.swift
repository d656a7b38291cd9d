/// The limits of reading ahead of the broker's acknowledgement. Reading clears the list ([13]), so a kill can lose this
/// much.
public enum HarvestLimits {
    /// Most plaintext handed to the broker at once; the next waits until all of it is acknowledged.
    public static let batchBytes = 64 << 10

    /// Requested size of the socket's receive buffer. Linux doubles it, and the whole may hold unread data.
    public static let socketBufferBytes = 32 << 10

    /// Most ciphertext taken from the socket at once: with a record begun before it fills no more than a batch.
    public static let socketReadBytes = batchBytes - recordBytes

    /// A TLS record with the overhead of ciphers (RFC 8446 §5.2): decrypted only when it is whole.
    private static let recordBytes = (16 << 10) + 512

    /// The longest sensible tuple, of which a part may have been read: a token of 100 bytes.
    private static let tupleBytes = 106

    /// The most that a kill can lose of tuples taken from the service. It is the sum of the unacknowledged batch, the
    /// socket's buffer, and the beginnings of a record and of a tuple.
    ///
    /// In tuples of 38 bytes: 3,896. Tuples that never left the service are not counted: where connecting clears the
    /// list, a connection that ends early loses the rest of the list, whichever side ends it.
    public static let readAheadBytes = batchBytes + 2 * socketBufferBytes + recordBytes + tupleBytes
}
