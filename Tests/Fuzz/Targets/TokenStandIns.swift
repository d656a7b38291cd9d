import APNsProtocol

@testable import Sandbox

/// Puts genuine tokens into a stream where it asks for them: `TOKN`, and a byte that says whose.
///
/// The token takes the place of the stand-in and what follows it, so that the stream keeps its length; where there is
/// too little left, the stand-in stays what it is.
///
/// | bits of the byte | say |
/// |---|---|
/// | 0–2 | the device |
/// | 3 | its generation |
/// | 4–5 | the length: 32, 64, 100 or 33 bytes |
/// | 6 | a device that does not exist |
struct TokenStandIns {
    static let mark = Array("TOKN".utf8)
    /// Lengths that bits 4 and 5 choose from.
    static let lengths: [UInt8] = [32, 64, 100, 33]

    let mint: TokenMint
    let devices: Int
    /// Tokens stand in the stream as hexadecimal digits.
    var isText = false

    func replaced(in stream: [UInt8]) -> [UInt8] {
        var replaced = stream
        var offset = 0
        while offset + Self.mark.count < stream.count {
            let token = stream[offset...].starts(with: Self.mark) ? token(stream[offset + Self.mark.count]) : []
            guard !token.isEmpty, offset + token.count <= stream.count else {
                offset += 1
                continue
            }
            replaced.replaceSubrange(offset..<offset + token.count, with: token)
            offset += token.count
        }
        return replaced
    }

    private func token(_ selector: UInt8) -> [UInt8] {
        let number = UInt32(selector & 7) % UInt32(devices)
        let instance = AppInstance(
            device: selector & 64 == 0 ? number : number + UInt32(devices),
            generation: selector >> 3 & 1,
            tokenBytes: Self.lengths[Int(selector >> 4 & 3)]
        )
        let token = mint.token(of: instance)
        return isText ? Array(Hex.encode(token).utf8) : token
    }
}
