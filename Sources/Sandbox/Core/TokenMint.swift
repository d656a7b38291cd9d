import APNsProtocol
import TLSTransport

/// Makes the device tokens of one topic and reads them back.
///
/// "Token trust" [13]: a token is opaque to everybody but the service, which minted it by encrypting the device's
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
/// | 6–7 | zero |
/// | 8–15 | hash of the topic |
/// | 16–31 | a constant |
///
/// The cipher garbles all of it when any bit of a token is changed, so a token that was not minted here passes the
/// check of the 27 bytes that are known with a probability below 2⁻²⁰⁰.
///
/// Not Sendable: the cipher underneath belongs to one thread.
public struct TokenMint {
    /// The size of every token made here: Apple's of 2013.
    public static let tokenBytes = TokenCipher.tokenBytes

    private let cipher: TokenCipher
    private let environment: PushEnvironment
    private let topicHash: UInt64

    /// A mint for `topic`, a bundle ID.
    ///
    /// - Parameter key: 32 bytes, see `DevelopmentPKI.tokenKey()`; another length traps.
    public init(key: [UInt8], environment: PushEnvironment, topic: String) {
        cipher = TokenCipher(key: key)
        self.environment = environment
        topicHash = Self.hash(topic)
    }

    /// Writes the token of one app instance to the start of `output`, at least ``tokenBytes`` long.
    public func mint(_ instance: AppInstance, into output: UnsafeMutableRawBufferPointer) {
        precondition(output.count >= Self.tokenBytes, "a token takes \(Self.tokenBytes) bytes")
        let token = UnsafeMutableRawBufferPointer(rebasing: output[..<Self.tokenBytes])
        token.storeBytes(of: instance.device.littleEndian, toByteOffset: 0, as: UInt32.self)
        token.storeBytes(of: head(generation: instance.generation), toByteOffset: 4, as: UInt32.self)
        token.storeBytes(of: topicHash.littleEndian, toByteOffset: 8, as: UInt64.self)
        token.storeBytes(of: Self.seal.0.littleEndian, toByteOffset: 16, as: UInt64.self)
        token.storeBytes(of: Self.seal.1.littleEndian, toByteOffset: 24, as: UInt64.self)
        cipher.encrypt(token)
    }

    /// The token of one app instance.
    public func token(of instance: AppInstance) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.tokenBytes) { buffer, count in
            mint(instance, into: UnsafeMutableRawBufferPointer(buffer))
            count = Self.tokenBytes
        }
    }

    /// The app instance a token was minted for, or `nil` if it was not minted by this mint: of another key,
    /// environment, topic or length, or damaged. Whether that instance exists is not known here.
    ///
    /// - Parameter token: valid during the call.
    public func open(_ token: UnsafeRawBufferPointer) -> AppInstance? {
        guard token.count == Self.tokenBytes else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: Self.tokenBytes, alignment: 8) { plain in
            plain.copyMemory(from: token)
            cipher.decrypt(plain)
            let second = (
                UInt64(littleEndian: plain.load(fromByteOffset: 16, as: UInt64.self)),
                UInt64(littleEndian: plain.load(fromByteOffset: 24, as: UInt64.self))
            )
            let generation = plain[4]
            guard second == Self.seal,
                UInt64(littleEndian: plain.load(fromByteOffset: 8, as: UInt64.self)) == topicHash,
                plain.load(fromByteOffset: 4, as: UInt32.self) == head(generation: generation)
            else { return nil }
            let device = UInt32(littleEndian: plain.load(fromByteOffset: 0, as: UInt32.self))
            return AppInstance(device: device, generation: generation)
        }
    }

    /// Bytes 4 to 7.
    private func head(generation: UInt8) -> UInt32 {
        (UInt32(generation) | UInt32(environment.rawValue) << 8).littleEndian
    }

    /// Any constant does; this one reads "belfry:token:v01" in a dump.
    private static let seal: (UInt64, UInt64) = (0x743a_7972_666c_6562, 0x3130_763a_6e65_6b6f)

    /// FNV-1a: stable over processes and machines, as the tokens have to be.
    private static func hash(_ topic: String) -> UInt64 {
        topic.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// One app on one virtual device, as a token names it.
public struct AppInstance: Hashable, Sendable {
    /// The virtual device's number, from 0.
    public let device: UInt32
    /// 0 for the first token the app was given there, one more for each that made the one before it invalid.
    public let generation: UInt8

    /// Any values are representable; whether there is such an instance only a ``DevicePopulation`` knows.
    public init(device: UInt32, generation: UInt8 = 0) {
        self.device = device
        self.generation = generation
    }
}
