/// The W3C trace context of a record, passed on unchanged.
package enum TraceContext {
    /// Names of the headers that carry it.
    package static let headerNames = [parent, "tracestate"]
    /// The header that names trace and span.
    package static let parent = "traceparent"
    /// Longest value of one that is passed on, in bytes: a record's outcomes repeat it for each token. Of `tracestate`
    /// W3C asks to pass on as much.
    package static let limitBytes = 512
}
