/// A request to a page's port, complete.
package struct PageRequest: Sendable {
    package let method: String
    /// Without the query.
    package let path: String
    /// The text behind the question mark; empty without one.
    package let query: String
    package let body: [UInt8]
}

/// An answer of a page's port.
package struct PageResponse: Sendable, Equatable {
    /// The HTTP status.
    package let status: Int
    package let body: [UInt8]
    /// The media type of the body.
    package let contentType: String
    /// Fields beyond those of every answer.
    package var headers: [String: String] = [:]

    package init(status: Int, body: [UInt8], contentType: String = "application/json") {
        self.status = status
        self.body = body
        self.contentType = contentType
    }

    /// A file, as it is.
    package init(_ file: PageFile) {
        self.init(status: 200, body: file.body, contentType: file.contentType)
    }

    /// An error for people and programs.
    package init(refusing refusal: PortRefusal, status: Int) {
        self.init(status: status, body: DocumentJSON.encode(refusal))
    }
}

/// The reason that a request is not served, naming the field.
package struct PortRefusal: Error, Equatable, Encodable {
    /// Nil: the request as a whole.
    package let field: String?
    /// The value that was found and the values that are allowed.
    package let error: String

    package init(field: String? = nil, error: String) {
        self.field = field
        self.error = error
    }
}
