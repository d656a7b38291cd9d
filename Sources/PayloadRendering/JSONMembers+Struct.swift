import APNsProtocol
import SwiftProtobuf

extension JSONMembers {
    /// Appends the fields of a struct, by key, so that the same notification always has the same bytes.
    ///
    /// - Parameters:
    ///   - path: of the struct, for the fault.
    ///   - depth: of the object that the members are written into; the payload itself is 1.
    mutating func append(
        fieldsOf fields: Google_Protobuf_Struct,
        path: String,
        depth: Int
    ) throws(NotificationFault) {
        for (key, value) in fields.fields.sorted(by: { $0.key < $1.key }) {
            try append(key) { text throws(NotificationFault) in try text.append(value, path: path, depth: depth) }
        }
    }
}

extension JSONText {
    /// Appends a struct as an object.
    ///
    /// - Parameter depth: of the object itself.
    mutating func append(
        _ fields: Google_Protobuf_Struct,
        path: String,
        depth: Int
    ) throws(NotificationFault) {
        guard depth <= PayloadScanner.depthLimit else {
            throw NotificationFault(path, "is nested deeper than the payload's \(PayloadScanner.depthLimit) levels")
        }
        // In place: what is nested deep would be copied once for each level.
        append(raw: "{")
        var isFirst = true
        for (key, value) in fields.fields.sorted(by: { $0.key < $1.key }) {
            if !isFirst { append(raw: ",") }
            isFirst = false
            append(key)
            append(raw: ":")
            try append(value, path: path, depth: depth)
        }
        append(raw: "}")
    }

    /// - Parameter depth: of the object or array that the value stands in.
    fileprivate mutating func append(
        _ value: Google_Protobuf_Value,
        path: String,
        depth: Int
    ) throws(NotificationFault) {
        switch value.kind {
        case nil, .nullValue: append(raw: "null")
        case .boolValue(let isTrue): if isTrue { append(raw: "true") } else { append(raw: "false") }
        case .stringValue(let text): append(text)
        case .numberValue(let number):
            guard number.isFinite else {
                throw NotificationFault(path, "has a number that is infinite or none; finite ones are allowed")
            }
            append(number)
        case .structValue(let fields): try append(fields, path: path, depth: depth + 1)
        case .listValue(let list):
            guard depth < PayloadScanner.depthLimit else {
                throw NotificationFault(path, "is nested deeper than the payload's \(PayloadScanner.depthLimit) levels")
            }
            append(raw: "[")
            for (index, value) in list.values.enumerated() {
                if index > 0 { append(raw: ",") }
                try append(value, path: path, depth: depth + 1)
            }
            append(raw: "]")
        }
    }
}
