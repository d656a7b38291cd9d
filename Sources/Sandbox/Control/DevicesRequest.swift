import APNsProtocol

/// `POST /devices`: app instances change their state.
struct DevicesRequest: Equatable {
    /// As in the request.
    enum State: String, CaseIterable {
        case online
        case offline
        case uninstalled
        /// The app is there again, with the token it had: online.
        case reinstalled
        /// There is no such device any more: its token is invalid.
        case removed
        /// Another device, or the same one, was set up from a backup: the app is online under a new token.
        case restored
        /// The device was erased, and the app was installed again: it is online under a new token.
        case wiped
    }

    /// The devices to change: a range of device numbers, or tokens.
    enum Selection: Equatable {
        case range(Range<Int>)
        case tokens([[UInt8]])
    }

    let topic: String
    let selection: Selection
    let state: State

    init(body: [UInt8]) throws(ControlError) {
        var fields = try ControlFields(body: body)
        topic = try fields.requiredString("topic")
        let stateName = try fields.requiredString("state")
        guard let state = State(rawValue: stateName) else {
            let allowed = State.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(field: "state", error: "is \"\(stateName.prefix(40))\", one of \(allowed) is expected")
        }
        self.state = state
        if let tokens = try fields.strings("tokens") {
            selection = .tokens(try Self.decode(tokens))
        } else {
            let limits = SandboxLimits.devices
            let first = try fields.requiredInteger("first", in: 0...limits.upperBound - 1)
            let count = try fields.requiredInteger("count", in: limits)
            selection = .range(first..<first + count)
        }
        try fields.finish()
    }

    private static func decode(_ tokens: [String]) throws(ControlError) -> [[UInt8]] {
        var decoded: [[UInt8]] = []
        decoded.reserveCapacity(tokens.count)
        for (index, token) in tokens.enumerated() {
            do {
                decoded.append(try Hex.decode(token))
            } catch {
                throw ControlError(field: "tokens[\(index)]", error: error.description)
            }
        }
        return decoded
    }
}

extension DevicesRequest.State {
    /// Carries it out for one device of the ledger's, which must exist.
    func apply(to device: Int, of ledger: inout DeviceLedger, now: UInt32) {
        switch self {
        case .online, .reinstalled: ledger.set(device, .online, now: now)
        case .offline: ledger.set(device, .offline, now: now)
        case .uninstalled: ledger.set(device, .uninstalled, now: now)
        case .removed: ledger.set(device, .removed, now: now)
        case .restored, .wiped: ledger.renew(device, now: now)
        }
    }
}
