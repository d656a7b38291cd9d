import Dispatch
import Glibc

/// SIGHUP, which asks a role to read its configuration again. From its creation on it does not end the process.
public final class ReloadSignal {
    /// Signals that came while none was waited for count as one.
    package let requests: AsyncStream<Void>
    private let source: any DispatchSourceSignal
    private let queue = DispatchQueue(label: "belfry.reload")

    public init() {
        let (requests, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.requests = requests
        signal(SIGHUP, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: queue)
        source.setEventHandler { continuation.yield() }
        source.activate()
    }
}
