import Dispatch
import NIOCore
import Synchronization

/// Asks questions that block in librdkafka, one after the other, on a thread beside the event loop.
///
/// Everything but the question itself happens on the event loop: ``ask(_:of:_:completion:)``, ``close()`` and the
/// completions. Each completion is called once, in the order of asking, and never from inside the call that asks.
///
/// A question keeps its client alive, so closing waits for no broker. The helper thread destroys the client if it holds
/// the last reference. The thread exists from the first question on, and only while there are questions.
final class KafkaQuestions {
    /// A question without an answer.
    private struct Pending {
        var context: String
        var finish: (Result<any Sendable, KafkaError>) -> Void
    }

    private let eventLoop: any EventLoop
    private let wayBack: WayBack
    private lazy var thread = DispatchQueue(label: "belfry.kafka-questions")
    private var pending: [UInt: Pending] = [:]
    private var lastNumber: UInt = 0
    private var isClosed = false

    /// - Parameter eventLoop: the current one.
    init(on eventLoop: any EventLoop) {
        eventLoop.preconditionInEventLoop()
        self.eventLoop = eventLoop
        wayBack = WayBack(eventLoop)
    }

    deinit { precondition(pending.isEmpty, "questions are closed before they are let go") }

    /// Asks in the background.
    ///
    /// - Parameters:
    ///   - context: the subject of the question, for the error (`isClosed`) that `close` answers with.
    ///   - handle: the client to ask; nil for a closed one.
    ///   - question: runs on the helper thread and ends by itself: it has a time-out.
    func ask<Answer: Sendable>(
        _ context: String,
        of handle: KafkaHandle?,
        _ question: @escaping @Sendable (KafkaHandle) throws(KafkaError) -> Answer,
        completion: @escaping (Result<Answer, KafkaError>) -> Void
    ) {
        eventLoop.preconditionInEventLoop()
        guard !isClosed, let handle else {
            eventLoop.assumeIsolated().execute { completion(.failure(.closed(context))) }
            return
        }
        lastNumber += 1
        let number = lastNumber
        pending[number] = Pending(context: context) { result in
            completion(
                result.map { answer in
                    guard let own = answer as? Answer else {
                        preconditionFailure("the answer to this number is the question's own")
                    }
                    return own
                }
            )
        }
        // The completion stays on the event loop; the helper thread has only its number.
        let owner = NIOLoopBound(self, eventLoop: eventLoop)
        let client = AskedClient(handle: handle)
        thread.async { [wayBack] in
            guard !wayBack.isCut else { return }
            let result = client.answer(question)
            wayBack.carryAnswer { owner.value.finish(number, result) }
        }
    }

    /// Answers every open question with an error (`isClosed`), and from now on every further one. Idempotent.
    ///
    /// The helper thread sends nothing to the event loop after this.
    func close() {
        eventLoop.preconditionInEventLoop()
        guard !isClosed else { return }
        isClosed = true
        wayBack.cut()
        for number in pending.keys.sorted() {
            guard let question = pending.removeValue(forKey: number) else { continue }
            question.finish(.failure(.closed(question.context)))
        }
    }

    private func finish(_ number: UInt, _ result: Result<any Sendable, KafkaError>) {
        // Nil: `close` answered while this answer was on its way.
        pending.removeValue(forKey: number)?.finish(result)
    }
}

/// A client as the helper thread sees it.
private struct AskedClient: @unchecked Sendable {
    // librdkafka's clients are thread-safe; only the wrapper's pointer is read, which never changes.
    let handle: KafkaHandle

    func answer<Answer: Sendable>(
        _ question: (KafkaHandle) throws(KafkaError) -> Answer
    ) -> Result<any Sendable, KafkaError> {
        do throws(KafkaError) {
            return .success(try question(handle))
        } catch {
            return .failure(error)
        }
    }
}

/// The helper thread's way to the event loop; once cut, the loop may end.
private final class WayBack: Sendable {
    private let eventLoop: any EventLoop
    private let isOpen = Mutex(true)

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    var isCut: Bool { isOpen.withLock { !$0 } }

    func cut() {
        isOpen.withLock { $0 = false }
    }

    /// Called on the helper thread, so nothing runs under the lock.
    func carryAnswer(_ answer: @escaping @Sendable () -> Void) {
        isOpen.withLock { isOpen in
            if isOpen { eventLoop.execute(answer) }
        }
    }
}
