import Foundation
import PushSchemas

/// The outcomes that are wanted: those that fit everything that is set.
public struct OutcomeFilter: Sendable {
    /// Bundle IDs; empty: all.
    public var bundleIDs: Set<String> = []
    /// Tokens' bytes; empty: all.
    public var tokens: Set<[UInt8]> = []
    /// Ids of requests; empty: all.
    public var requestIDs: Set<String> = []
    /// Empty: all.
    public var kinds: Set<OutcomeKind> = []
    /// Only those of notifications that did not arrive, or for which that is not known.
    public var onlyFailures = false
    /// UNIX milliseconds of the earliest decision; nil: any.
    public var since: Int64?

    public init() {}

    /// Everything is shown, also what is no outcome.
    var isOpen: Bool {
        bundleIDs.isEmpty && tokens.isEmpty && requestIDs.isEmpty && kinds.isEmpty && !onlyFailures && since == nil
    }

    /// The outcome is one of those, or a summary with some of them.
    func admits(_ outcome: PushOutcome) -> Bool {
        (bundleIDs.isEmpty || bundleIDs.contains(outcome.bundleID))
            && (tokens.isEmpty || tokens.contains([UInt8](outcome.token)))
            && (requestIDs.isEmpty || requestIDs.contains(outcome.requestID))
            && (outcome.kind == .summary
                ? outcome.counts.contains { admits($0.kind) } : admits(outcome.kind))
            && since.map { outcome.decidedAtMs >= $0 } ?? true
    }

    /// The kind is one of those.
    func admits(_ message: PushOutcomeKind) -> Bool {
        (kinds.isEmpty || OutcomeKind(message).map(kinds.contains) ?? false) && (!onlyFailures || message.isFailure)
    }
}

extension PushOutcomeKind {
    /// The notification did not arrive, or that is not known: so it is with a kind of a later version.
    var isFailure: Bool { OutcomeKind(self)?.isFailure ?? true }
}
