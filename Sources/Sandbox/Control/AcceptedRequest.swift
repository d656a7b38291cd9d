import APNsProtocol
import Foundation

/// `GET /accepted?topic=A`: what was accepted. With `&token=HEX` or `&device=I`: for that one, in order.
/// `GET /notification` with one of these: the last one that was accepted for it.
struct AcceptedRequest: Equatable {
    /// The devices whose acceptances are asked for.
    enum Selection: Equatable {
        case all
        case device(Int)
        case token([UInt8])
    }

    let topic: String
    let selection: Selection

    /// - Parameter query: of the request's target, without the question mark.
    init(query: String) throws(ControlError) {
        var fields: [String: String] = [:]
        for part in query.split(separator: "&") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = String(sides[0].prefix(80))
            guard ["topic", "token", "device"].contains(name) else {
                throw ControlError(field: name, error: "is not a field of this request")
            }
            guard sides.count == 2, let value = sides[1].removingPercentEncoding else {
                throw ControlError(field: name, error: "has no value that can be read")
            }
            guard fields.updateValue(value, forKey: name) == nil else {
                throw ControlError(field: name, error: "is there twice")
            }
        }
        guard let topic = fields["topic"] else { throw ControlError(field: "topic", error: "is missing") }
        self.topic = topic
        switch (fields["token"], fields["device"]) {
        case (nil, nil):
            selection = .all
        case (let token?, nil):
            do {
                selection = .token(try Hex.decode(token))
            } catch {
                throw ControlError(field: "token", error: error.description)
            }
        case (nil, let device?):
            let range = 0...SandboxLimits.devices.upperBound - 1
            guard let number = Int(device), range.contains(number) else {
                let allowed = "an integer of \(range.lowerBound) to \(range.upperBound)"
                throw ControlError(field: "device", error: "is \"\(device.prefix(40))\", \(allowed) is expected")
            }
            selection = .device(number)
        case (_?, _?):
            throw ControlError(field: "device", error: "is there besides \"token\", one of them is expected")
        }
    }
}

extension ControlAPI {
    /// A topic as a whole.
    private struct Summary: Encodable {
        let topic: String
        /// Remembered in order.
        let entries: Int
        /// Accepted before those.
        let forgotten: Int
        let distinct: Int
    }

    /// One device, in order of acceptance.
    private struct History: Encodable {
        let topic: String
        let device: Int
        /// See ``PayloadMark``: what the payloads had as `n`.
        let accepted: [UInt32]
        /// The topic remembers everything it has accepted.
        let complete: Bool
    }

    func accepted(_ request: AcceptedRequest) throws(ControlError) -> Response {
        let topic = try topic(request.topic)
        if let (device, generation) = try device(request.selection, of: topic) {
            return history(of: topic, device, generation: generation)
        }
        let summary = topic.withLedger { ledger in
            Summary(
                topic: topic.name,
                entries: ledger.log.count,
                forgotten: ledger.log.forgotten,
                distinct: ledger.memory.count
            )
        }
        return json(summary)
    }

    /// The device that is meant, and the generation of its token if one was given; nil: the topic as a whole.
    func device(
        _ selection: AcceptedRequest.Selection,
        of topic: PushService.Topic
    ) throws(ControlError) -> (UInt32, generation: UInt8?)? {
        switch selection {
        case .all: return nil
        case .device(let device):
            let population = topic.withLedger { $0.population.count }
            guard device < population else {
                throw ControlError(field: "device", error: "is \(device), there are \(population)")
            }
            return (UInt32(device), generation: nil)
        case .token(let token):
            guard let instance = token.withUnsafeBytes(service.mint(for: topic).open) else {
                throw ControlError(field: "token", error: "is not a token of \(topic.name)")
            }
            return (instance.device, generation: instance.generation)
        }
    }

    private func history(of topic: PushService.Topic, _ device: UInt32, generation: UInt8?) -> Response {
        let history = topic.withLedger { ledger in
            History(
                topic: topic.name,
                device: Int(device),
                accepted: ledger.log.entries(device: device, generation: generation).map(\.mark),
                complete: ledger.log.forgotten == 0
            )
        }
        return json(history)
    }
}
