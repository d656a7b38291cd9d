/// The source of a rule of the protocol. Documentation in this module cites the marks in brackets.
public enum RuleSource: String, Sendable, Hashable, CaseIterable {
    /// [10] Apple's *Local and Push Notification Programming Guide* of 2010.
    case guide2010 = "10"
    /// [13] The same guide as of 2013; where the two differ, its rule is the default.
    case guide2013 = "13"
    /// [later] Apple's documents after 2013.
    case later = "later"
    /// [field] Not documented by Apple: observed by operators and well-known providers.
    case field = "field"
    /// [ours] Decided by this project, because no source does.
    case ours = "ours"
}
