import Foundation

/// `GET /field?topic=A&x=0&y=0&width=640&height=400&cell=4`: a part of a topic's field, see ``FieldImage``.
///
/// `x`, `y` (default 0) are the column and row where it begins, in devices; `width`, `height` are squares, at most
/// ``SandboxLimits/fieldSquares`` together; `cell` (default 1) is the edge of a square in devices.
struct FieldRequest: Equatable {
    let topic: String
    let viewport: FieldImage.Viewport

    /// - Parameter query: what stands behind the question mark.
    init(query: String) throws(ControlError) {
        var fields = try Self.fields(of: query)
        guard let topic = fields.removeValue(forKey: "topic") else {
            throw ControlError(field: "topic", error: "is missing")
        }
        self.topic = topic
        let position = 0...SandboxLimits.devices.upperBound
        let size = 1...SandboxLimits.fieldSquares
        viewport = FieldImage.Viewport(
            x: try Self.integer("x", in: position, or: 0, &fields),
            y: try Self.integer("y", in: position, or: 0, &fields),
            width: try Self.integer("width", in: size, or: nil, &fields),
            height: try Self.integer("height", in: size, or: nil, &fields),
            cell: try Self.integer("cell", in: SandboxLimits.fieldCell, or: 1, &fields)
        )
        guard viewport.width <= SandboxLimits.fieldSquares / viewport.height else {
            let most = SandboxLimits.fieldSquares
            throw ControlError(field: "height", error: "with \"width\" makes more than \(most) squares")
        }
        if let unknown = fields.keys.min() {
            throw ControlError(field: String(unknown.prefix(80)), error: "is not a field of this request")
        }
    }

    private static func integer(
        _ name: String,
        in range: ClosedRange<Int>,
        or standard: Int?,
        _ fields: inout [String: String]
    ) throws(ControlError) -> Int {
        guard let text = fields.removeValue(forKey: name) else {
            guard let standard else { throw ControlError(field: name, error: "is missing") }
            return standard
        }
        guard let value = Int(text), range.contains(value) else {
            let allowed = "an integer of \(range.lowerBound) to \(range.upperBound)"
            throw ControlError(field: name, error: "is \"\(text.prefix(40))\", \(allowed) is expected")
        }
        return value
    }

    private static func fields(of query: String) throws(ControlError) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = decoded(parts[0])
            let value = parts.count > 1 ? decoded(parts[1]) : ""
            guard fields.updateValue(value, forKey: name) == nil else {
                throw ControlError(field: String(name.prefix(80)), error: "is there twice")
            }
        }
        return fields
    }

    /// Undoes the encoding of a query. What is encoded wrongly stands for itself.
    private static func decoded(_ text: Substring.UTF8View) -> String {
        let text = String(Substring(text)).replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
    }
}
