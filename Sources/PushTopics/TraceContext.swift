/// The W3C trace context of a record, passed on unchanged.
package enum TraceContext {
    /// Names of the headers that carry it.
    package static let headerNames = ["traceparent", "tracestate"]
}
