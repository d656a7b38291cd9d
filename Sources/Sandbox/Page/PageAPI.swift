import PageParts

/// The part of the control port that is made for the page: its files and the ground of its field. Without transport,
/// as ``ControlAPI`` is; the events have their own way, see ``EventHub``.
struct PageAPI: Sendable {
    let service: PushService

    /// - Parameter query: what stands behind the question mark, empty when there is none.
    /// - Returns: `nil` when the path is none of the page's.
    func respond(method: String, path: String, query: String) -> PageResponse? {
        let file = PageFile.sandbox.first { $0.path == path }
        guard file != nil || path == "/field" else { return nil }
        guard method == "GET" else {
            return Self.failure(ControlError(field: nil, error: "\(path) does not know this method"), status: 405)
        }
        if let file { return PageResponse(file) }
        do throws(ControlError) {
            let image = try field(FieldRequest(query: query))
            return PageResponse(status: 200, body: image, contentType: "application/octet-stream")
        } catch {
            return Self.failure(error, status: 400)
        }
    }

    /// An error as the control interface words it.
    static func failure(_ error: ControlError, status: Int) -> PageResponse {
        PageResponse(status: status, body: DocumentJSON.encode(error))
    }

    private func field(_ request: FieldRequest) throws(ControlError) -> [UInt8] {
        guard let topic = service.topic(named: request.topic) else {
            let served = service.topics.map(\.name).joined(separator: ", ")
            throw ControlError(field: "topic", error: "is \"\(request.topic.prefix(80))\", served are \(served)")
        }
        let layout = FieldLayout(devices: topic.withLedger { $0.population.count })
        return FieldImage.draw(request.viewport, of: layout) { devices, body in
            topic.withLedger { $0.population.withPackedStates(devices, body) }
        }
    }
}
