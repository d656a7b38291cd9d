extension RedisEndpoint {
    /// Reads one URL, or several with commas between them: nodes of one cluster, or sentinels of one master, which may
    /// also stand in one URL (`redis+sentinel://a,b,c/name`).
    ///
    /// - Throws: ``RedisEndpointError`` for the first wrong URL, or the first that differs from the first of all in its
    ///   scheme, its credentials or the name of the master; with sentinels, in the database, too.
    public static func list(urls text: String) throws(RedisEndpointError) -> [RedisEndpoint] {
        var urls: [String] = []
        for part in trimming(text[...]).split(separator: ",", omittingEmptySubsequences: false) {
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
            let more = try Self.endpoints(url: url)
            if let first = endpoints.first, let part = more[0].part(otherThanIn: first) {
                throw RedisEndpointError(part: part, message: "all URLs must have the same")
            }
            endpoints += more
        }
        return endpoints
    }

    /// The first part that must be alike in all URLs, and is not.
    private func part(otherThanIn first: RedisEndpoint) -> RedisEndpointError.Part? {
        if tls != first.tls || (master == nil) != (first.master == nil) { return .scheme }
        if user != first.user || password != first.password { return .credentials }
        if master != first.master { return .name }
        // Sentinels name one server. Of a cluster's nodes no database is chosen at all.
        return master != nil && database != first.database ? .database : nil
    }

    static func trimming(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
