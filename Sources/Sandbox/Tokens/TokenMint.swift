import APNsProtocol
import TLSTransport

/// Makes the device tokens of one topic and reads them back.
///
/// "Token trust" [13]: a token is opaque to all but the service, which minted it by encrypting the device's
/// identity under a key of its own, and which finds out by decrypting whether a token is genuine and whose it is. So
/// there is no table of tokens. Tokens of the two environments differ [13]; a token of a foreign topic is invalid
/// [later], which is why the topic is inside [ours].
///
/// The 32 bytes that are encrypted [ours]:
///
/// | bytes | content |
/// |---|---|
/// | 0–3 | device index, little-endian |
/// | 4 | generation: how often the app on this device was given a new token |
/// | 5 | ``PushEnvironment`` |
/// | 6 | how many bytes the token has beyond these 32, see ``tail(of:into:)`` |
/// | 7 | zero |
/// | 8–15 | hash of the topic |
/// | 16–31 | a constant |
///
/// The cipher garbles all of it when any bit of a token is changed, so a token that was not minted here passes the
/// check of the 27 bytes that are known with a probability below 2⁻²⁰⁰.
///
/// Not Sendable: the cipher underneath belongs to one thread.
public struct TokenMint {
    /// The size of a token unless another is asked for: Apple's of 2013.
    public static let tokenBytes = TokenCipher.tokenBytes

    /// The size of the tokens this mint makes, one of ``tokenLengths``; it opens all of them.
    public let mintedBytes: Int

    let cipher: TokenCipher
    private let environment: PushEnvironment
    let topicHash: UInt64

    /// A mint for `topic`, a bundle ID.
    ///
    /// - Parameters:
    ///   - key: 32 bytes, see `DevelopmentPKI.tokenKey()`; another length traps.
    ///   - mintedBytes: one of ``tokenLengths``; others trap.
    public init(
        key: [UInt8],
        environment: PushEnvironment,
        topic: String,
        mintedBytes: Int = TokenMint.tokenBytes
    ) {
        precondition(Self.tokenLengths.contains(mintedBytes), "there are no tokens of \(mintedBytes) bytes")
        cipher = TokenCipher(key: key)
        self.environment = environment
        self.mintedBytes = mintedBytes
        topicHash = TextHash.fnv1a(topic)
    }

    /// Writes the token of one app instance to the start of `output`, which is long enough for it.
    ///
    /// - Returns: how long the token is: as the one the instance was recognised by, else ``mintedBytes``.
    @discardableResult
    public func mint(_ instance: AppInstance, into output: UnsafeMutableRawBufferPointer) -> Int {
        let tokenBytes = instance.tokenBytes == 0 ? mintedBytes : Int(instance.tokenBytes)
        precondition(output.count >= tokenBytes, "this token takes \(tokenBytes) bytes")
        let token = UnsafeMutableRawBufferPointer(rebasing: output[..<Self.tokenBytes])
        token.storeBytes(of: instance.device.littleEndian, toByteOffset: 0, as: UInt32.self)
        let head = head(generation: instance.generation, tailBytes: tokenBytes - Self.tokenBytes)
        token.storeBytes(of: head, toByteOffset: 4, as: UInt32.self)
        token.storeBytes(of: topicHash.littleEndian, toByteOffset: 8, as: UInt64.self)
        token.storeBytes(of: Self.seal.0.littleEndian, toByteOffset: 16, as: UInt64.self)
        token.storeBytes(of: Self.seal.1.littleEndian, toByteOffset: 24, as: UInt64.self)
        cipher.encrypt(token)
        if tokenBytes > Self.tokenBytes {
            let whole = UnsafeMutableRawBufferPointer(rebasing: output[..<tokenBytes])
            tail(of: UnsafeRawBufferPointer(token), into: whole)
        }
        return tokenBytes
    }

    /// The token of one app instance.
    public func token(of instance: AppInstance) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.tokenLengths.upperBound) { buffer, count in
            count = mint(instance, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// The app instance a token was minted for, or `nil` if it was not minted by this mint: of another key,
    /// environment, topic or length, or damaged. Whether that instance exists is not known here.
    ///
    /// - Parameter token: valid during the call.
    public func open(_ token: UnsafeRawBufferPointer) -> AppInstance? {
        guard token.count == Self.tokenBytes || hasGenuineTail(token) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: Self.tokenBytes, alignment: 8) { plain in
            plain.copyMemory(from: UnsafeRawBufferPointer(rebasing: token[..<Self.tokenBytes]))
            cipher.decrypt(plain)
            return plain.baseAddress.flatMap { instance(in: $0, tokenBytes: token.count) }
        }
    }

    /// The app instance in a token that has been decrypted, or `nil` if it was not minted by this mint.
    ///
    /// - Parameters:
    ///   - plain: the ``tokenBytes`` that were encrypted, aligned to 8.
    ///   - tokenBytes: how long the whole token is.
    @inline(__always)
    func instance(in plain: UnsafeRawPointer, tokenBytes: Int) -> AppInstance? {
        let second = (
            UInt64(littleEndian: plain.load(fromByteOffset: 16, as: UInt64.self)),
            UInt64(littleEndian: plain.load(fromByteOffset: 24, as: UInt64.self))
        )
        let generation = plain.load(fromByteOffset: 4, as: UInt8.self)
        guard second == Self.seal,
            Self.topicHash(in: plain) == topicHash,
            plain.load(fromByteOffset: 4, as: UInt32.self)
                == head(generation: generation, tailBytes: tokenBytes - Self.tokenBytes)
        else { return nil }
        let device = UInt32(littleEndian: plain.load(fromByteOffset: 0, as: UInt32.self))
        return AppInstance(device: device, generation: generation, tokenBytes: UInt8(tokenBytes))
    }

    /// The hash of the topic in a token that has been decrypted; any number for one that was not minted here.
    static func topicHash(in plain: UnsafeRawPointer) -> UInt64 {
        UInt64(littleEndian: plain.load(fromByteOffset: 8, as: UInt64.self))
    }

    /// Bytes 4 to 7.
    private func head(generation: UInt8, tailBytes: Int) -> UInt32 {
        (UInt32(generation) | UInt32(environment.rawValue) << 8 | UInt32(tailBytes) << 16).littleEndian
    }

    /// Any constant does; this one reads "belfry:token:v01" in a dump.
    private static let seal: (UInt64, UInt64) = (0x743a_7972_666c_6562, 0x3130_763a_6e65_6b6f)
}

/// One app on one virtual device, as a token names it.
///
/// Equal when it is the same app on the same device with the same of its tokens, however long that was.
public struct AppInstance: Hashable, Sendable {
    /// The virtual device's number, from 0.
    public let device: UInt32
    /// 0 for the first token the app was given there, one more for each that made the one before it invalid.
    public let generation: UInt8
    /// Length in bytes of the token that named the instance. So it can be named by the same one. 0 when no token did,
    /// and it is to be as long as its mint makes them.
    public let tokenBytes: UInt8

    /// Any values are representable; whether there is such an instance only a ``DevicePopulation`` knows.
    public init(device: UInt32, generation: UInt8 = 0, tokenBytes: UInt8 = 0) {
        self.device = device
        self.generation = generation
        self.tokenBytes = tokenBytes
    }

    public static func == (left: AppInstance, right: AppInstance) -> Bool {
        left.device == right.device && left.generation == right.generation
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(generation)
    }
}
