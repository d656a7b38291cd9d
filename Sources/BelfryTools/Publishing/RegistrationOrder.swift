import APNsProtocol
import BelfryProducer
import BelfrySupport
import PushSchemas
import TokenState

/// An order to `belfry register`.
public struct RegistrationOrder: Equatable, Sendable {
    /// The statement about the tokens.
    public enum Kind: Equatable, Sendable {
        case register
        case unregister
        /// Locale and time zone alone: no registration.
        case describe
    }

    public var bundleID: String
    public var tokens: TokenInput
    /// Empty: the only one configured at the registrars.
    public var environment = ""
    /// UNIX seconds; nil: the time of publishing.
    public var registeredAt: UInt32?
    public var kind = Kind.register
    /// The token whose place the only one given takes, in hexadecimal digits; nil: none's.
    public var replaces: String?
    /// A BCP 47 tag; empty: unknown.
    public var locale = ""
    /// An IANA name; empty: unknown.
    public var timeZone = ""
    /// Over how many keys the bundle is spread.
    public var spread = 1
    public var format = RecordFormat.protobuf
    /// The longest token the gateway takes; shorter than 32 bytes is none.
    public var tokenLimitBytes = 100

    public init(bundleID: String, tokens: TokenInput) {
        self.bundleID = bundleID
        self.tokens = tokens
    }

    /// Checks everything, as for a `PublishOrder`.
    func checked() throws(ToolError) -> (template: RegistrationBatcher.Template, tokens: PackedTokens) {
        var faults: [String] = []
        var template: RegistrationBatcher.Template?
        do throws(ToolError) {
            template = try self.template()
        } catch {
            faults.append(error.description)
        }
        var tokens = PackedTokens()
        do throws(ToolError) {
            tokens = try self.tokens.tokens(lengths: lengths)
            if replaces != nil, tokens.count != 1 {
                faults.append("replaces: found \(tokens.count) tokens; allowed: 1, which takes the other's place")
            }
        } catch {
            faults.append(error.description)
        }
        guard faults.isEmpty, let template else { throw .invalidInput(faults) }
        return (template, tokens)
    }

    /// Fields that all records have in common, checked.
    func template() throws(ToolError) -> RegistrationBatcher.Template {
        var faults = PublishOrder.faults(bundleID: bundleID, spread: spread)
        faults += TokenTexts.faults(locale: locale, timeZone: timeZone)
        if registeredAt == 0 { faults.append("registered at: found 0; allowed: \(RegistrationTime.allowed)") }
        var template = RegistrationBatcher.Template(bundleID: bundleID)
        if let replaces {
            if kind != .register { faults.append("replaces: allowed only where a token is registered") }
            do throws(ToolError) {
                template.replaced = try PackedTokens([replaces], lengths: lengths).withToken(at: 0) { Array($0) }
            } catch {
                faults.append("replaces: \(error)")
            }
        }
        guard faults.isEmpty else { throw .invalidInput(faults) }
        template.environment = environment
        template.registeredAt = registeredAt
        template.kind = kind
        template.locale = locale
        template.timeZone = timeZone
        template.spread = UInt32(spread)
        template.format = format
        return template
    }

    private var lengths: ClosedRange<Int> { 32...max(32, tokenLimitBytes) }
}
