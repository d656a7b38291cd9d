/// Shares of a population's devices that are not online at the beginning. From 0 to 1 each, no more than 1 together.
public struct PopulationShares: Sendable, Hashable {
    /// The names of the fields.
    public static let names = ["offline", "uninstalled"]

    /// Share of the devices that are offline.
    public var offline = 0.0
    /// Share of the devices whose app is missing.
    public var uninstalled = 0.0

    /// All online.
    public init() {}

    /// Reads `offline=0.1,uninstalled=0.01`; what is left out is 0.
    ///
    /// - Throws: ``SandboxSetupError`` naming the field.
    public init(parsing text: String) throws(SandboxSetupError) {
        let fields = NamedNumbers(subject: "initial", names: Self.names, range: 0...1)
        for (name, value) in try fields.parse(text) {
            switch name {
            case "offline": offline = value
            default: uninstalled = value
            }
        }
        try check()
    }

    /// - Throws: ``SandboxSetupError`` naming the field.
    func check() throws(SandboxSetupError) {
        for (name, value) in [("offline", offline), ("uninstalled", uninstalled)] where !(0...1).contains(value) {
            throw SandboxSetupError(subject: "initial: \(name)", problem: "\(value), 0 to 1 is expected")
        }
        guard offline + uninstalled <= 1 else {
            throw SandboxSetupError(subject: "initial", problem: "the shares are more than 1 together")
        }
    }
}

/// Rates at which a population's devices change state, per hour. A rate is the share of the devices of one state that
/// go to another. 2 means that half an hour is what a device stays on average. See ``ChurnRates/range``.
public struct ChurnRates: Sendable, Hashable {
    /// Range of a rate: at most every device once a second.
    public static let range: ClosedRange<Double> = 0...3600
    /// The names of the fields.
    public static let names = ["offline", "online", "reinstalled", "removed", "uninstalled"]

    /// From online to offline.
    public var offline = 0.0
    /// From offline to online.
    public var online = 0.0
    /// From uninstalled to online: the app is there again, with the token it had.
    public var reinstalled = 0.0
    /// From any state to removed, for ever.
    public var removed = 0.0
    /// From online to uninstalled.
    public var uninstalled = 0.0

    /// Nothing changes.
    public init() {}

    /// Reads `offline=0.5,online=2,uninstalled=0.01`; what is left out is 0.
    ///
    /// - Throws: ``SandboxSetupError`` naming the field.
    public init(parsing text: String) throws(SandboxSetupError) {
        let fields = NamedNumbers(subject: "churn", names: Self.names, range: Self.range)
        for (name, value) in try fields.parse(text) {
            self[name] = value
        }
    }

    /// A rate by its name, one of ``names``; any other is 0 and cannot be set.
    subscript(name: String) -> Double {
        get {
            switch name {
            case "offline": offline
            case "online": online
            case "reinstalled": reinstalled
            case "removed": removed
            case "uninstalled": uninstalled
            default: 0
            }
        }
        set {
            switch name {
            case "offline": offline = newValue
            case "online": online = newValue
            case "reinstalled": reinstalled = newValue
            case "removed": removed = newValue
            case "uninstalled": uninstalled = newValue
            default: break
            }
        }
    }

    /// - Throws: ``SandboxSetupError`` naming the field.
    func check() throws(SandboxSetupError) {
        for name in Self.names where !Self.range.contains(self[name]) {
            throw SandboxSetupError(subject: "churn: \(name)", problem: "\(self[name]), 0 to 3600 is expected")
        }
    }
}

/// A setting that is written as `name=number,name=number`.
struct NamedNumbers {
    let subject: String
    let names: [String]
    let range: ClosedRange<Double>

    /// In the order of the text.
    ///
    /// - Throws: ``SandboxSetupError`` naming the field.
    func parse(_ text: String) throws(SandboxSetupError) -> [(name: String, value: Double)] {
        var fields: [(name: String, value: Double)] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard names.contains(sides[0]) else {
                let problem = "\"\(sides[0].prefix(40))\", one of \(names.joined(separator: ", ")) is expected"
                throw SandboxSetupError(subject: subject, problem: problem)
            }
            guard !fields.contains(where: { $0.name == sides[0] }) else {
                throw SandboxSetupError(subject: "\(subject): \(sides[0])", problem: "is there twice")
            }
            guard sides.count == 2, let value = Double(sides[1]), range.contains(value) else {
                let found = sides.count == 2 ? "\"\(sides[1].prefix(40))\"" : "nothing"
                let allowed = "a number of \(Int(range.lowerBound)) to \(Int(range.upperBound))"
                throw SandboxSetupError(subject: "\(subject): \(sides[0])", problem: "\(found), \(allowed) is expected")
            }
            fields.append((sides[0], value))
        }
        return fields
    }
}
