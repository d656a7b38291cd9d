import Dispatch
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import KafkaClient

@Suite("Questions", .serialized, .timeLimit(.minutes(2)))
struct KafkaQuestionsTests {
    /// Runs on an event loop of its own.
    private func onLoop(_ body: @escaping @Sendable (any EventLoop) throws -> EventLoopFuture<Void>) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        do {
            try await eventLoop.flatSubmit {
                do {
                    return try body(eventLoop)
                } catch {
                    return eventLoop.makeFailedFuture(error)
                }
            }.get()
        } catch {
            Issue.record(error)
        }
        try await group.shutdownGracefully()
    }

    private static func handle() throws -> KafkaHandle {
        let inbox = KafkaInbox()
        let configuration = try KafkaConfiguration([:], defaults: [:], isConsumer: true, inbox: inbox)
        return try configuration.makeHandle(inbox: inbox)
    }

    /// The answers that the completions of a test were given.
    private final class Answers {
        var all: [Result<Int, KafkaError>] = []
        var numbers: [Int?] { all.map { try? $0.get() } }

        func take(_ answer: Result<Int, KafkaError>) {
            all.append(answer)
        }

        func isClosed(_ index: Int) -> Bool {
            if case .failure(let error) = all[index] { error.isClosed } else { false }
        }
    }

    @Test("The event loop goes on while a question waits, and gets the answers in the order of the questions")
    func doesNotBlock() async throws {
        try await onLoop { eventLoop in
            let questions = KafkaQuestions(on: eventLoop)
            let handle = try Self.handle()
            let isAsked = DispatchSemaphore(value: 0)
            let answers = Answers()
            let done = eventLoop.makePromise(of: Void.self)
            let take: (Result<Int, KafkaError>) -> Void = { answer in
                eventLoop.preconditionInEventLoop()
                answers.take(answer)
                if answers.all.count == 3 { done.succeed() }
            }
            // It would wait for ever if it were asked on the event loop.
            questions.ask(
                "first",
                of: handle,
                { _ in
                    isAsked.wait()
                    return 1
                },
                completion: take
            )
            questions.ask(
                "second",
                of: handle,
                { _ throws(KafkaError) -> Int in throw KafkaError.closed("not really") },
                completion: take
            )
            questions.ask("third", of: handle, { _ in 3 }, completion: take)
            #expect(answers.all.isEmpty)
            isAsked.signal()
            return done.futureResult.assumeIsolated().map {
                #expect(answers.numbers == [1, nil, 3])
                questions.close()
                #expect(answers.all.count == 3)
            }.nonisolated()
        }
    }

    @Test("Closing answers every open question once, lets none begin, and frees no client that is being asked")
    func closing() async throws {
        try await onLoop { eventLoop in
            let questions = KafkaQuestions(on: eventLoop)
            var handle: KafkaHandle? = try Self.handle()
            weak let asked = handle
            let hasBegun = DispatchSemaphore(value: 0)
            let isClosed = DispatchSemaphore(value: 0)
            let hasEnded = eventLoop.makePromise(of: Void.self)
            let answers = Answers()
            questions.ask(
                "under way",
                of: handle,
                { handle in
                    hasBegun.signal()
                    isClosed.wait()
                    hasEnded.succeed()
                    return 1
                },
                completion: answers.take
            )
            questions.ask(
                "waiting",
                of: handle,
                { _ in
                    Issue.record("asked after closing")
                    return 2
                },
                completion: answers.take
            )
            hasBegun.wait()
            handle = nil
            questions.close()
            questions.close()
            #expect(answers.all.count == 2)
            #expect(answers.isClosed(0) && answers.isClosed(1))
            #expect(asked != nil)
            isClosed.signal()
            // Later questions are answered, too, but not from inside the asking.
            let last = eventLoop.makePromise(of: Void.self)
            let late: (Result<Int, KafkaError>) -> Void = {
                answers.take($0)
                last.succeed()
            }
            questions.ask("late", of: nil, { _ in 3 }, completion: late)
            #expect(answers.all.count == 2)
            return hasEnded.futureResult.and(last.futureResult).assumeIsolated().map { _ in
                #expect(answers.all.count == 3)
                #expect(answers.isClosed(2))
            }.nonisolated()
        }
    }

    @Test("A started consumer is told committed positions and watermarks", arguments: BrokerKind.allCases)
    func answers(kind: BrokerKind) async throws {
        let broker = UncheckedBroker(broker: try TestBroker(kind, partitions: 3))
        defer { broker.broker.close() }
        try broker.broker.fill(0..<5, partition: 2)
        try await onLoop { eventLoop in
            let places = broker.broker.places
            let consumer = try broker.broker.consumer()
            let hasCommitted = eventLoop.makePromise(of: Void.self)
            let done = eventLoop.makePromise(of: Void.self)
            consumer.onAssigned = { [unowned consumer] _ in
                #expect(throws: Never.self) {
                    try consumer.completeAssign()
                    try consumer.commit([KafkaPartitionOffset(places[1], offset: 4, metadata: "é")]) {
                        #expect($0 == nil)
                        hasCommitted.succeed()
                    }
                }
            }
            try consumer.start(on: eventLoop) { [unowned consumer] in while consumer.consumeBatch(max: 9) != nil {} }
            var committed: [KafkaPartitionOffset]?
            var nothing: [[KafkaTopicPartition]] = []
            return hasCommitted.futureResult.assumeIsolated().flatMap {
                consumer.committed(places, timeoutMilliseconds: 30_000) { committed = try? $0.get() }
                consumer.committed([], timeoutMilliseconds: 30_000) {
                    nothing.append((try? $0.get())?.map(\.place) ?? places)
                }
                consumer.watermarks(of: [], timeoutMilliseconds: 30_000) {
                    nothing.append((try? $0.get())?.isEmpty == true ? [] : places)
                }
                consumer.watermarks(of: [places[2], places[0]], timeoutMilliseconds: 30_000) { answer in
                    #expect((try? answer.get())?.map(\.high) == [5, 0])
                    // From inside a completion anything may be done, even this.
                    consumer.close()
                    done.succeed()
                }
                #expect(committed == nil)
                return done.futureResult
            }.map {
                #expect(committed?.map(\.offset) == [KafkaOffset.none, 4, KafkaOffset.none])
                #expect(committed?.map(\.metadata) == ["", "é", ""])
                #expect(nothing == [[], []])
            }.nonisolated()
        }
    }

    @Test("A commit is answered while fetched messages lie untaken", arguments: BrokerKind.allCases)
    func commitBesideMessages(kind: BrokerKind) async throws {
        let broker = UncheckedBroker(broker: try TestBroker(kind))
        defer { broker.broker.close() }
        try broker.broker.fill(0..<300)
        try await onLoop { eventLoop in
            let consumer = try broker.broker.consumer()
            let answered = eventLoop.makePromise(of: Void.self)
            var taken = 0
            try consumer.start(on: eventLoop) { [unowned consumer] in
                // The others were fetched with the first one, and stay where they are.
                guard taken == 0, let batch = consumer.consumeBatch(max: 1) else { return }
                taken += batch.count
                #expect(throws: Never.self) {
                    try consumer.commit([KafkaPartitionOffset(broker.broker.places[0], offset: 1)]) {
                        #expect($0 == nil)
                        answered.succeed()
                    }
                }
            }
            return answered.futureResult.assumeIsolated().map {
                #expect(taken == 1)
                #expect(consumer.consumeBatch(max: 299)?.count == 299)
                consumer.close()
            }.nonisolated()
        }
    }

    @Test("What is asked for the next round comes after the sockets that are ready, however long rounds take")
    func nextRound() async throws {
        let broker = UncheckedBroker(broker: try TestBroker(.embedded))
        defer { broker.broker.close() }
        try await onLoop { eventLoop in
            let consumer = try broker.broker.consumer()
            try consumer.start(on: eventLoop) { [unowned consumer] in while consumer.consumeBatch(max: 9) != nil {} }
            let other = try broker.broker.consumer()
            let done = eventLoop.makePromise(of: Void.self)
            var rounds: [Int] = []
            func goOn(_ round: Int) {
                consumer.nextRound {
                    rounds.append(round)
                    // Longer than tasks that are due soon wait.
                    let end = ContinuousClock.now + .milliseconds(1)
                    while ContinuousClock.now < end {}
                    if round < 1000 { goOn(round + 1) }
                }
            }
            goOn(0)
            // Its first call is a task, and the next one comes through a descriptor, as soon as that is watched.
            try other.start(on: eventLoop) {}
            other.nextRound { done.succeed() }
            return done.futureResult.assumeIsolated().map {
                #expect(rounds == Array(0..<rounds.count) && rounds.count < 100)
                consumer.nextRound { Issue.record("it is closed") }
                consumer.close()
                other.close()
            }.nonisolated()
        }
    }

    @Test("A consumer closes while it waits for a broker that is away: every question is answered once, with an error")
    func closesMeanwhile() async throws {
        let broker = UncheckedBroker(broker: try TestBroker(.embedded))
        defer { broker.broker.close() }
        try await onLoop { eventLoop in
            let places = broker.broker.places
            let consumer = try broker.broker.consumer()
            let isAssigned = eventLoop.makePromise(of: Void.self)
            consumer.onAssigned = { [unowned consumer] _ in
                #expect(throws: Never.self) { try consumer.completeAssign() }
                isAssigned.succeed()
            }
            try consumer.start(on: eventLoop) { [unowned consumer] in while consumer.consumeBatch(max: 9) != nil {} }
            var errors: [KafkaError?] = []
            func note<Answer>(_ answer: Result<Answer, KafkaError>) {
                if case .failure(let error) = answer { errors.append(error) } else { errors.append(nil) }
            }
            let last = eventLoop.makePromise(of: Void.self)
            return isAssigned.futureResult.assumeIsolated().flatMap {
                broker.broker.goDown()
                consumer.committed(places, timeoutMilliseconds: 5_000) { note($0) }
                consumer.watermarks(of: places, timeoutMilliseconds: 5_000) { note($0) }
                consumer.close(timeoutMilliseconds: 1_000)
                #expect(errors.count == 2)
                consumer.committed(places, timeoutMilliseconds: 5_000) {
                    note($0)
                    last.succeed()
                }
                #expect(errors.count == 2)
                return last.futureResult
            }.map {
                #expect(errors.map { $0?.isClosed } == [true, true, true])
            }.nonisolated()
        }
    }

    /// Its clients are made on another thread; nothing of it changes meanwhile but what that thread does.
    private struct UncheckedBroker: @unchecked Sendable {
        var broker: TestBroker
    }
}
