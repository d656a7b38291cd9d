/// The header fields of one request, gathered by a server as they come.
///
/// One value serves many requests: ``clear()`` keeps its memory. Names that the service does not read are ignored.
public struct ProviderRequestHead: Sendable {
    private var bytes: [UInt8] = []
    /// By the field's raw value; nil: absent.
    private var ranges = [Range<Int>?](repeating: nil, count: ProviderHeader.allCases.count)

    /// A field stands there twice. The first value counts.
    public private(set) var hasDuplicates = false

    public init() {}

    /// Forgets the request.
    public mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        for index in ranges.indices { ranges[index] = nil }
        hasDuplicates = false
    }

    /// Takes a field; the bytes are copied.
    public mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard let field = ProviderHeader(name: name) else { return }
        add(field, value: value)
    }

    /// Takes a field; the bytes are copied.
    public mutating func add(_ field: ProviderHeader, value: UnsafeRawBufferPointer) {
        guard ranges[field.rawValue] == nil else {
            hasDuplicates = true
            return
        }
        let start = bytes.count
        bytes.append(contentsOf: value)
        ranges[field.rawValue] = start..<bytes.count
    }

    /// The same with a text: for the cold path.
    public mutating func add(_ field: ProviderHeader, _ value: String) {
        Array(value.utf8).withUnsafeBytes { add(field, value: $0) }
    }

    /// Gives access to the values.
    ///
    /// - Parameter body: gets the values, valid during the call.
    public func withValues<Value>(
        _ body: (Values) throws(ProviderReason) -> Value
    ) throws(ProviderReason) -> Value {
        try bytes.span.withUnsafeBytes { bytes throws(ProviderReason) in
            try body(Values(bytes: bytes, ranges: ranges))
        }
    }

    /// The value of a field as text; nil: absent. For the cold path.
    public func text(of field: ProviderHeader) -> String? {
        ranges[field.rawValue].map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The values of a head.
    public struct Values {
        private let bytes: UnsafeRawBufferPointer
        private let ranges: [Range<Int>?]

        fileprivate init(bytes: UnsafeRawBufferPointer, ranges: [Range<Int>?]) {
            self.bytes = bytes
            self.ranges = ranges
        }

        /// The value of a field, possibly empty; nil: absent.
        public subscript(_ field: ProviderHeader) -> UnsafeRawBufferPointer? {
            ranges[field.rawValue].map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
        }
    }
}
