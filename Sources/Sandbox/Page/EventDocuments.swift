/// `event: hello`: what a page has to know before anything else.
struct HelloDocument: Encodable, Equatable {
    /// One topic and the shape of its field; see ``FieldLayout``.
    struct Topic: Encodable, Equatable {
        let name: String
        let devices: Int
        let columns: Int
    }

    let environment: String
    let topics: [Topic]

    init(of service: PushService) {
        environment = "\(service.environment)"
        topics = service.topics.map { topic in
            let layout = FieldLayout(devices: topic.withLedger { $0.population.count })
            return Topic(name: topic.name, devices: layout.devices, columns: layout.columns)
        }
    }
}

/// `event: flashes`: devices to which something happened since the last one, sampled, see ``ActivityTrace``.
///
/// `{"0":["AAABAAAC","","",""]}`: by the topic's place in the hello, for each ``ActivityTrace/Kind`` the devices'
/// numbers, each in 24 bits, big-endian, in base64: four characters a device.
enum FlashesDocument {
    /// - Parameter samples: of all topics, in their order.
    /// - Returns: `nil` when nothing happened.
    static func encode(_ samples: [ActivityTrace.Sample]) -> [UInt8]? {
        var document: [UInt8] = []
        for (index, sample) in samples.enumerated() where sample.contains(where: { !$0.isEmpty }) {
            document += (document.isEmpty ? "{" : ",").utf8
            document += "\"\(index)\":[".utf8
            for (kind, devices) in sample.enumerated() {
                document += (kind == 0 ? "\"" : ",\"").utf8
                for device in devices { append(device, to: &document) }
                document += "\"".utf8
            }
            document += "]".utf8
        }
        guard !document.isEmpty else { return nil }
        document += "}".utf8
        return document
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func append(_ device: UInt32, to document: inout [UInt8]) {
        for shift in [18, 12, 6, 0] as [UInt32] {
            document.append(alphabet[Int(device >> shift & 63)])
        }
    }
}

/// `event: stats`: `{"at":n,"stats":…}` with a clock in milliseconds, so that a page can make rates of the counts, and
/// what `GET /stats` answers.
enum StatsEvent {
    static func encode(atMilliseconds: Int64, stats: [UInt8]) -> [UInt8] {
        var document = Array("{\"at\":\(atMilliseconds),\"stats\":".utf8)
        document += stats
        document += "}".utf8
        return document
    }
}
