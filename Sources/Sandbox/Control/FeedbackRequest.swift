/// `POST /feedback`: apps are listed as missing, as if notifications had found them so. For tests of readers of the
/// list. `{"topic":"A","first":0,"count":100}`, and `"timestamp"` in UNIX seconds, which is now if it is left out.
struct FeedbackRequest: Equatable {
    let topic: String
    let devices: Range<Int>
    /// Nil: now.
    let timestamp: UInt32?

    init(body: [UInt8]) throws(ControlError) {
        var fields = try ControlFields(body: body)
        topic = try fields.requiredString("topic")
        let limits = SandboxLimits.devices
        let first = try fields.requiredInteger("first", in: 0...limits.upperBound - 1)
        devices = first..<first + (try fields.requiredInteger("count", in: limits))
        timestamp = try fields.integer("timestamp", in: 0...Int(UInt32.max)).map { UInt32($0) }
        try fields.finish()
    }
}

extension ControlAPI {
    /// - Returns: the number of apps that were named.
    func list(_ request: FeedbackRequest) throws(ControlError) -> Int {
        let topic = try topic(request.topic)
        try check(request.devices, of: topic)
        let timestamp = request.timestamp ?? service.now
        var rest = request.devices
        while !rest.isEmpty {
            let slice = rest.prefix(SandboxLimits.devicesPerSlice)
            rest = rest.dropFirst(slice.count)
            topic.withLedger { ledger in
                for device in slice { ledger.list(device, timestamp: timestamp) }
            }
        }
        return request.devices.count
    }
}
