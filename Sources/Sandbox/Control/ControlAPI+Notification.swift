/// `GET /notification`: the last notification that was accepted for a device, or a token.
extension ControlAPI {
    private struct Report: Encodable {
        struct Notification: Encodable {
            let accepted: String
            let priority: UInt8
            /// Bytes that are no UTF-8 are replaced.
            let payload: String
            /// A device can parse the payload.
            let valid: Bool
            /// These are there if they are known.
            let expiration: String?
            let pushType: String?
            let collapseID: String?

            init?(_ answer: RecentNotifications.Answer) {
                guard let item = answer.item else { return nil }
                accepted = UTCText.text(unixSeconds: item.until)
                priority = item.priority.rawValue
                payload = String(decoding: answer.payload, as: UTF8.self)
                valid = item.isValid
                let expires = item.expiration > 0 && item.expiration < .max
                expiration = expires ? UTCText.text(unixSeconds: item.expiration) : nil
                pushType = item.pushType?.rawValue
                collapseID = answer.collapseID.isEmpty ? nil : String(decoding: answer.collapseID, as: UTF8.self)
            }
        }

        let topic: String
        let device: Int
        /// Nil: none is remembered.
        let notification: Notification?
        /// Surely no later one was accepted.
        let last: Bool
    }

    func lastNotification(_ request: AcceptedRequest) throws(ControlError) -> Response {
        let topic = try topic(request.topic)
        guard let (device, generation) = try device(request.selection, of: topic) else {
            throw ControlError(field: "device", error: "is missing")
        }
        var answer = topic.withLedger { $0.recent.last(of: device) }
        // One for another token of the device.
        if let generation, let item = answer.item, item.instance.generation != generation {
            answer = RecentNotifications.Answer(isLast: false)
        }
        let notification = Report.Notification(answer)
        return json(
            Report(topic: topic.name, device: Int(device), notification: notification, last: answer.isLast)
        )
    }
}
