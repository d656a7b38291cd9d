/// The settings of a ``StreamQueue``'s decisions.
public struct StreamLimits: Equatable, Sendable {
    /// The treatment of requests that were not answered.
    public var unknownFate: UnknownFatePolicy
    /// Most requests in flight of the queue; 1 or more.
    public var inFlight: Int
    /// The longest wait for the answer to a request.
    public var requestTimeout: Duration
    /// The wait before a notification goes again by itself: after status 429 or 5xx, or when its stream was reset.
    public var backoff: Backoff
    /// The longest time of attempts after such an answer, counted from the first.
    public var retryFor: Duration
    /// Most attempts that end with status 5xx while the service accepts nothing else of the topic; 1 … 255. [ours]
    ///
    /// A trouble of the service is no reason to refuse a notification, however long it takes. But a notification that
    /// is itself the trouble must not hold its topic's cursor for ever.
    public var serviceAttempts: Int
    /// Most ends of connections and streams for which a notification is to blame alone; 1 … 255. After these it is
    /// refused.
    public var loneCloses: Int

    public init(
        unknownFate: UnknownFatePolicy = .resend,
        inFlight: Int = 65_536,
        requestTimeout: Duration = .seconds(10),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100)),
        retryFor: Duration = .seconds(60),
        serviceAttempts: Int = 255,
        loneCloses: Int = 5
    ) {
        precondition(inFlight >= 1 && requestTimeout > .zero && retryFor >= .zero)
        precondition((1...255).contains(serviceAttempts) && (1...255).contains(loneCloses))
        self.unknownFate = unknownFate
        self.inFlight = inFlight
        self.requestTimeout = requestTimeout
        self.backoff = backoff
        self.retryFor = retryFor
        self.serviceAttempts = serviceAttempts
        self.loneCloses = loneCloses
    }
}
