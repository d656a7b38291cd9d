import APNsProtocol
import Foundation
import PushSchemas
import SwiftProtobuf

/// Writing in the form that a record's value has.
extension RecordContentType {
    /// The headers that name the form; the binary one needs none.
    package var headers: [(name: String, value: [UInt8])] {
        self == .json ? [(Self.headerName, Array(headerValue.utf8))] : []
    }

    package func encode(_ message: some Message) throws -> [UInt8] {
        self == .json ? try message.jsonUTF8Bytes() : try message.serializedBytes()
    }

    /// The message of a token without values of its own.
    package func message(of token: UnsafeRawBufferPointer) -> PushDeviceToken {
        .with { $0.value = self == .json ? .hex(Hex.encode(token)) : .raw(Data(token)) }
    }
}
