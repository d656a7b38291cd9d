import APNsProtocol
import HTTP2Transport

/// GOAWAYs and resets of the provider API, counted since the start.
struct APIDismissals: Equatable, Sendable {
    /// By the reason that stands in the debug data, or by the code without one: `Shutdown`, `PROTOCOL_ERROR`.
    private(set) var goAways: [String: Int] = [:]
    /// Streams by the code: `REFUSED_STREAM`.
    private(set) var resets: [String: Int] = [:]

    mutating func count(_ dismissals: HTTP2Dismissals) {
        for goAway in dismissals.goAways {
            let reason = (try? ProviderErrorBody(parsing: goAway.debugData))?.reason.rawValue
            goAways[reason ?? "\(goAway.code)", default: 0] += 1
        }
        for (code, count) in dismissals.resets { resets["\(code)", default: 0] += count }
    }
}
