import NIOCore

/// The answer to a client that does not speak HTTP/2, in the language of most of those.
enum HTTP1Refusal {
    /// Status 505 says that the server "refuses to support the major version of HTTP", and its body why (RFC 9110
    /// §15.6.6).
    static let answer: ByteBuffer = {
        let text = """
            This is the provider API of the push service. It speaks HTTP/2 over TLS and nothing else: \
            a client has to offer "h2" by ALPN, or to begin with HTTP/2 at once. With curl: --http2.

            """
        let head = """
            HTTP/1.1 505 HTTP Version Not Supported\r
            content-type: text/plain; charset=utf-8\r
            content-length: \(text.utf8.count)\r
            connection: close\r
            \r

            """
        return ByteBuffer(string: head + text)
    }()
}
