/// The source of a rule of the protocol. Comments of all targets cite the marks in brackets.
public enum RuleSource: String, Sendable, Hashable, CaseIterable {
    /// [10] Apple's *Local and Push Notification Programming Guide* of 2010.
    case guide2010 = "10"
    /// [11] The same guide as of 2011.
    case guide2011 = "11"
    /// [13] The same guide as of 2013; where they differ, its rule is the default.
    case guide2013 = "13"
    /// [talk] The session about push notifications of Apple's conference for developers in 2009.
    case talk2009 = "talk"
    /// [later] Apple's documents after 2013.
    case later = "later"
    /// [field] Not documented by Apple: observed by operators and well-known providers.
    case field = "field"
    /// [ours] Decided by this project, because no source does.
    case ours = "ours"
}
