extension RedisEndpoint {
    /// Reads one URL, or several with commas between them: nodes of one cluster.
    ///
    /// - Throws: ``RedisEndpointError`` for the first wrong URL, or the first whose scheme or credentials differ from
    ///   those of the first URL.
    public static func list(urls text: String) throws(RedisEndpointError) -> [RedisEndpoint] {
        var urls: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let trimmed = trimming(part)
            // A comma inside of a password separates nothing.
            if let last = urls.indices.last, !trimmed.contains("://") {
                urls[last] += ",\(part)"
            } else {
                urls.append(trimmed)
            }
        }
        var endpoints: [RedisEndpoint] = []
        for url in urls {
            let endpoint = try RedisEndpoint(url: url)
            if let first = endpoints.first {
                guard endpoint.tls == first.tls else {
                    throw RedisEndpointError(part: .scheme, message: "all URLs must have the same")
                }
                guard endpoint.user == first.user, endpoint.password == first.password else {
                    throw RedisEndpointError(part: .credentials, message: "all URLs must have the same")
                }
            }
            endpoints.append(endpoint)
        }
        return endpoints
    }

    private static func trimming(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
