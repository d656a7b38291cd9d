import BelfrySupport
import Glibc

/// All addresses of a name, by the system's resolver.
enum AddressLookup {
    /// Blocks.
    static func addresses(of place: HostPort) -> Result<[HostPort], LookupTrouble> {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(place.host, nil, &hints, &list)
        guard status == 0 else { return .failure(LookupTrouble(description: String(cString: gai_strerror(status)))) }
        defer { freeaddrinfo(list) }
        var found: [HostPort] = []
        var next = list
        while let entry = next {
            if let host = numericHost(of: entry.pointee) {
                let address = HostPort(host: host, port: place.port)
                if !found.contains(address) { found.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return found.isEmpty ? .failure(LookupTrouble(description: "it has no address")) : .success(found)
    }

    private static func numericHost(of entry: addrinfo) -> String? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let length = socklen_t(host.count)
        let status = getnameinfo(entry.ai_addr, entry.ai_addrlen, &host, length, nil, 0, NI_NUMERICHOST)
        guard status == 0 else { return nil }
        return String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
