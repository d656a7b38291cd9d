import Dispatch

/// Makes calls of librdkafka that may never return, each on a thread of its own, and waits for them for a while.
///
/// Some calls wait for an answer of librdkafka's main thread without a limit. While a group is being left that thread
/// may throw the question away (`rd_kafka_cgrp_terminated` purges its queue), and the call never returns.
enum BoundedCall {
    /// Makes a call; blocks until it has returned, or the time is over. One that takes longer keeps its thread.
    ///
    /// - Parameters:
    ///   - client: lives until the call has returned, if it ever does.
    ///   - kept: released when it has, before this function returns.
    /// - Returns: false: the call has not returned.
    @discardableResult
    static func run(
        on client: OpaquePointer,
        keeping kept: AnyObject? = nil,
        until deadline: ContinuousClock.Instant,
        _ call: @escaping @Sendable (OpaquePointer) -> Void
    ) -> Bool {
        // By hand: the compiler would let go of it where it sees no use any more, before the call or behind the signal.
        let client = Client(pointer: client, kept: kept.map { Unmanaged.passRetained($0) })
        let end = DispatchSemaphore(value: 0)
        DispatchQueue(label: "belfry.kafka-call").async {
            call(client.pointer)
            client.kept?.release()
            end.signal()
        }
        let left = max(.zero, ContinuousClock.now.duration(to: deadline))
        return end.wait(timeout: .now() + .nanoseconds(Int(left / .nanoseconds(1)))) == .success
    }

    private struct Client: @unchecked Sendable {
        // librdkafka's clients are thread-safe, and the pointer never changes.
        let pointer: OpaquePointer
        let kept: Unmanaged<AnyObject>?
    }
}
