/// The settings of a console.
public struct ConsoleConfiguration: Sendable {
    public var targets: [ScrapeTarget]
    /// An address of this machine.
    public var listen = "127.0.0.1"
    /// 0: a free one is taken.
    public var port = 2189
    /// Host names under which others than this machine reach the page.
    public var names: [String] = []
    /// The token that processes want; nil: none.
    public var bearerToken: String?
    /// A PEM file with the authorities of the processes' certificates; nil: they speak plain HTTP.
    public var trustFile: String?
    /// The name in the processes' certificates; nil: the host that is asked.
    public var serverName: String?

    public init(targets: [ScrapeTarget]) { self.targets = targets }
}
