/// The W3C trace context of a record, passed on unchanged.
package enum TraceContext {
    /// Names of the headers that carry it.
    package static let headerNames = [parent, "tracestate"]
    /// The header that names trace and span.
    package static let parent = "traceparent"
}
