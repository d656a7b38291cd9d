import NIOCore
import Synchronization

/// Values that live on event loops, asked from elsewhere while those loops may come to their end.
package final class EventLoopReports<Value>: Sendable {
    private let values = Mutex<[NIOLoopBound<Value>]>([])

    package init() {}

    /// The values to ask from now on. Before their event loops end they are taken out: nothing is scheduled on a loop
    /// after that.
    package func replace(with values: [NIOLoopBound<Value>]) {
        self.values.withLock { $0 = values }
    }

    /// Asks all of them, each on its loop, and returns the answers in their order.
    ///
    /// All are asked before anything is waited for: a loop that is busy must not make another one be asked after its
    /// end. A loop that ends does what it was asked before.
    package func ask<Answer: Sendable>(_ question: @escaping @Sendable (Value) -> Answer) async -> [Answer] {
        let (stream, continuation) = AsyncStream<(Int, Answer)>.makeStream()
        var answers: [Answer?] = values.withLock { values in
            for (number, value) in values.enumerated() {
                value.eventLoop.execute { continuation.yield((number, question(value.value))) }
            }
            return Array(repeating: nil, count: values.count)
        }
        var missing = answers.count
        if missing == 0 { continuation.finish() }
        for await (number, answer) in stream {
            answers[number] = answer
            missing -= 1
            if missing == 0 { continuation.finish() }
        }
        return answers.compactMap { $0 }
    }
}
