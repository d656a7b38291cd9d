/// The notifications of a topic that may go out, while it does not work or must not send.
public enum Admission: Equatable, Sendable {
    case all
    /// One notification in flight at a time: a probe.
    case one
    /// Nothing, and no connection for it: one of its own is ended.
    case none
}
