import Glibc
import PushSchemas

/// Finds the sender of a record's bundle and environment; makes it on first use.
struct SenderDirectory {
    private(set) var senders: [TopicSender] = []

    private let environments: [String]
    private var indices: [Name: Int32] = [:]
    private var topics: [UInt64: Int32] = [:]
    /// The last answer: consecutive records mostly belong to one bundle.
    private var last: (key: [UInt8], environment: [UInt8], found: Found)?

    /// Whose requests a record's key is about.
    struct Found {
        var sender: TopicSender
        /// The shard that the key names.
        var shard: UInt32?
    }

    private struct Name: Hashable {
        var environment: String
        var bundleID: String
    }

    /// Why there is no sender.
    enum Fault: Error {
        case environmentUnknown(found: String, allowed: [String])
        case environmentNeeded(allowed: [String])
        case bundleWithoutCertificate(bundleID: String, environment: String)

        var reason: String {
            switch self {
            case .environmentUnknown: "environment-unknown"
            case .environmentNeeded: "environment-needed"
            case .bundleWithoutCertificate: "bundle-without-certificate"
            }
        }

        var detail: String {
            switch self {
            case .environmentUnknown(let found, let allowed):
                "environment '\(found)' is not configured; allowed: \(allowed.joined(separator: ", "))"
            case .environmentNeeded(let allowed):
                "several environments are configured, so the request must name one of \(allowed.joined(separator: ", "))"
            case .bundleWithoutCertificate(let bundleID, let environment):
                "no certificate for \(bundleID) in environment \(environment)"
            }
        }
    }

    init(environments: [String]) {
        self.environments = environments
    }

    /// - Parameter make: makes the sender with the index given; nil if the bundle has no certificate there.
    mutating func find(
        key: UnsafeRawBufferPointer,
        environment: UnsafeRawBufferPointer,
        make: (_ index: Int32, _ environment: String, _ bundleID: String) -> TopicSender?
    ) throws(RecordRefusal) -> Found {
        if let last, Self.areEqual(last.key, key), Self.areEqual(last.environment, environment) {
            return last.found
        }
        let parsed = try RecordRefusal.of { () throws(RecordError) in try RecordKeyView(parsing: key) }
        let found = Found(
            sender: try sender(of: parsed, environment: String(decoding: environment, as: UTF8.self), make: make),
            shard: parsed.shard
        )
        last = (Array(key), Array(environment), found)
        return found
    }

    /// The sender that was made for a topic; see ``ParkedLags/topicHash(environment:bundleID:)``.
    func sender(topicHash: UInt64) -> TopicSender? {
        topics[topicHash].map { senders[Int($0)] }
    }

    private mutating func sender(
        of key: RecordKeyView,
        environment: String,
        make: (_ index: Int32, _ environment: String, _ bundleID: String) -> TopicSender?
    ) throws(RecordRefusal) -> TopicSender {
        do throws(Fault) {
            let name = Name(
                environment: try resolve(environment),
                bundleID: String(decoding: key.bundleID, as: UTF8.self)
            )
            if let known = indices[name] { return senders[Int(known)] }
            let index = Int32(senders.count)
            guard let made = make(index, name.environment, name.bundleID) else {
                throw .bundleWithoutCertificate(bundleID: name.bundleID, environment: name.environment)
            }
            senders.append(made)
            topics[made.topicHash] = index
            indices[name] = index
            return made
        } catch {
            throw RecordRefusal(reason: error.reason, detail: error.detail)
        }
    }

    private static func areEqual(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        known.count == bytes.count
            && known.withUnsafeBytes { left in
                guard let first = left.baseAddress, let second = bytes.baseAddress else { return bytes.isEmpty }
                return memcmp(first, second, bytes.count) == 0
            }
    }

    private func resolve(_ environment: String) throws(Fault) -> String {
        if environment.isEmpty {
            guard environments.count == 1 else { throw .environmentNeeded(allowed: environments) }
            return environments[0]
        }
        guard environments.contains(environment) else {
            throw .environmentUnknown(found: environment, allowed: environments)
        }
        return environment
    }
}
