import APNsProtocol

/// The sources of streams for one topic, by push type: each may have another credential.
///
/// Push types without a topic suffix are for the bundle itself, and share one. Others are known once they were sent.
struct LaneConnections {
    /// For the bundle itself; nil: no credential is.
    private(set) var own: CredentialConnections?
    /// For push types with a topic of their own.
    private(set) var suffixed: [(pushType: PushType, connections: CredentialConnections?)] = []
    /// Each once.
    private(set) var all: [CredentialConnections] = []

    /// Nil: no credential may send the push type, or none was looked for.
    subscript(pushType: PushType) -> CredentialConnections? {
        pushType.topicSuffix.isEmpty ? own : suffixed.first { $0.pushType == pushType }?.connections
    }

    /// Notes that a push type is sent.
    ///
    /// - Returns: its connections are to be looked for.
    mutating func add(_ pushType: PushType) -> Bool {
        let isKnown = pushType.topicSuffix.isEmpty || suffixed.contains { $0.pushType == pushType }
        guard !isKnown else { return false }
        suffixed.append((pushType, nil))
        return true
    }

    /// Uses other connections for a push type from now on.
    mutating func use(_ changed: CredentialConnections, for pushType: PushType) {
        if let index = suffixed.firstIndex(where: { $0.pushType == pushType }) {
            suffixed[index].connections = changed
        } else {
            own = changed
        }
        all = []
        for next in [own] + suffixed.map({ $0.connections }) {
            if let next, !has(next) { all.append(next) }
        }
    }

    /// The push types for which they are the source; `.alert` stands for all without a suffix.
    func pushTypes(of connections: CredentialConnections) -> [PushType] {
        let others = suffixed.compactMap { $0.connections === connections ? $0.pushType : nil }
        return own === connections ? [.alert] + others : others
    }

    func has(_ connections: CredentialConnections) -> Bool { all.contains { $0 === connections } }
}
