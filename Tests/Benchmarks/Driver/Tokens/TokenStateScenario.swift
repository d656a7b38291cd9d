import APNsProtocol
import BenchmarkCommon
import Foundation
import NIOCore
import NIOPosix
import PushSchemas
import RedisClient
import TokenState

/// Tokens in a Redis server with its stock settings, over ten bundles, with locale and time zone: what they take, and
/// how fast they are looked up.
final class TokenStateScenario {
    private static let environment = "production"
    private static let bundles = (0..<10).map { "com.example.bench\($0)" }
    private static let locales = ["en-US", "de-DE", "pt-BR", "ja-JP", "zh-Hans-CN"]
    private static let zones = [
        "America/New_York", "Europe/Berlin", "America/Sao_Paulo", "Asia/Tokyo", "Asia/Shanghai",
    ]
    /// Look-ups that are sent at a time; four times as many are under way.
    private static let window = 512

    /// The rule by which the tokens lie; the programs in C have the same.
    private static let rule = TokenLayout(text: BENCH_RULE)

    private let servers: Servers
    private let address: String
    private let count: Int
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let clients: NIOLoopBound<Clients>

    private struct Clients {
        var connection: RedisConnection
        var table: TokenTable
        var spaces: [TokenTable.Space]
    }

    init(servers: Servers, tokens count: Int) throws {
        self.servers = servers
        self.count = count
        address = try servers.startRedis()
        let endpoint = try RedisEndpoint(url: "redis://\(address)")
        let eventLoop = group.next()
        clients = try eventLoop.submit {
            let connection = RedisConnection(configuration: .init(endpoint: endpoint), eventLoop: eventLoop)
            connection.start()
            let table = TokenTable(connection, Self.rule)
            let spaces = Self.bundles.map { table.space(environment: Self.environment, bundleID: $0) }
            return NIOLoopBound(Clients(connection: connection, table: table, spaces: spaces), eventLoop: eventLoop)
        }.wait()
    }

    func close() {
        let clients = clients
        try? clients.eventLoop.submit { clients.value.connection.close() }.wait()
        try? group.syncShutdownGracefully()
    }

    private static func token(_ index: Int) -> [UInt8] {
        var token = [UInt8](repeating: 0, count: Int(BENCH_TOKEN_BYTES))
        bench_token(UInt64(index), &token)
        return token
    }

    // MARK: Memory

    /// Registers all tokens; returns how many bytes of the server's memory each takes.
    func measureMemory() throws -> Double {
        let before = try usedMemory()
        say("registering \(count) tokens")
        let start = Sink.now()
        try run(count) { clients, indices, done in
            for index in indices {
                let bundle = index % Self.bundles.count
                let texts = TokenTexts(locale: Self.locales[index / 10 % 5], timeZone: Self.zones[index / 10 % 5])
                let change = TokenChange(
                    environment: Self.environment,
                    bundleID: Self.bundles[bundle],
                    token: Self.token(index),
                    kind: .register(at: 1_700_000_000 + UInt32(index % 1_000_000), texts)
                )
                clients.table.make(change, in: clients.spaces[bundle]) { done($0.map { _ in }) }
            }
        }
        let seconds = Double(Sink.now() - start) / 1e9
        let bytes = Double(try usedMemory() - before) / Double(count)
        say("\(Int(Double(count) / seconds)) registrations/s, \(bytes) bytes each")
        return bytes
    }

    private func usedMemory() throws -> Int {
        let clients = clients
        let text = try clients.eventLoop.flatSubmit {
            let promise = clients.eventLoop.makePromise(of: String.self)
            clients.value.connection.send { writer in
                writer.command("INFO", argumentCount: 1)
                writer.argument("memory")
            } _: { result in
                promise.completeWith(result.map { $0.string ?? "" }.mapError { $0 as any Error })
            }
            return promise.futureResult
        }.wait()
        guard
            let line = text.split(whereSeparator: \.isNewline).first(where: { $0.hasPrefix("used_memory:") }),
            let bytes = Int(line.dropFirst("used_memory:".count))
        else { throw BenchmarkError("redis: INFO memory says nothing of used_memory") }
        return bytes
    }

    // MARK: Look-ups

    /// Looks tokens up through the pipeline's client, and the same fields with raw HGETs, in turns.
    func measureLookUps(_ lookups: Int, rounds: Int, into report: inout TokensReport) throws {
        let file = servers.workspace.file("lookups")
        try fields(lookups).write(to: file)
        // Each once before it counts.
        _ = try lookUp(lookups)
        _ = try lookUpRaw(lookups, file)
        for round in 0..<rounds {
            let isFirst = round.isMultiple(of: 2)
            if isFirst { report.lookUpRate.add(try lookUp(lookups)) }
            report.rawRate.add(try lookUpRaw(lookups, file))
            if !isFirst { report.lookUpRate.add(try lookUp(lookups)) }
            let (rate, rawRate) = (report.lookUpRate.values[round], report.rawRate.values[round])
            say("round \(round + 1): \(Int(rate))/s, raw \(Int(rawRate))/s")
        }
    }

    /// Tokens in an order that is not that of their registration.
    private func index(ofLookUp number: Int) -> Int { number &* 7_919 % count }

    /// Look-ups per second through the pipeline's client.
    private func lookUp(_ lookups: Int) throws -> Double {
        let tokens = UnsafeMutableRawBufferPointer.allocate(byteCount: lookups * Int(BENCH_TOKEN_BYTES), alignment: 8)
        defer { tokens.deallocate() }
        for number in 0..<lookups {
            let room = UnsafeMutableRawBufferPointer(rebasing: tokens[(number * 32)..<(number * 32 + 32)])
            room.copyBytes(from: Self.token(index(ofLookUp: number)))
        }
        let places = Places(
            tokens: UnsafeRawBufferPointer(tokens),
            bundles: (0..<lookups).map { index(ofLookUp: $0) % 10 }
        )
        let start = Sink.now()
        try run(lookups) { clients, numbers, done in
            let lookUps = clients.table.lookUps(capacity: numbers.count) { answer, _ in done(Self.checkLiving(answer)) }
            clients.table.together {
                for number in numbers {
                    let token = places[number]
                    let space = clients.spaces[places.bundles[number]]
                    lookUps.add(token, in: space, number: number)
                }
            }
        }
        return Double(lookups) / (Double(Sink.now() - start) / 1e9)
    }

    /// All tokens live.
    private static func checkLiving(_ answer: TokenLookUps.Answer) -> Result<Void, RedisError> {
        answer.flatMap { value in
            guard let value, TokenRecord.reasonOfDeath(value, for: .app) == nil else {
                return .failure(.server(prefix: "BENCH", message: "a token is missing"))
            }
            return .success(())
        }
    }

    /// Tokens end to end, valid while the scenario looks them up.
    private struct Places: @unchecked Sendable {
        var tokens: UnsafeRawBufferPointer
        var bundles: [Int]

        subscript(number: Int) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: tokens[(number * 32)..<(number * 32 + 32)])
        }
    }

    private func lookUpRaw(_ lookups: Int, _ file: URL) throws -> Double {
        let child = try servers.start(
            "lookups",
            program: servers.programs.lookups,
            arguments: ["--redis", address, "--file", file.path, "--window", "\(Self.window)"]
        )
        let line = try child.line(within: 120_000)
        try child.awaitSuccess()
        let result = try JSONDecoder().decode(RawResult.self, from: Data(line.utf8))
        guard result.found == lookups else { throw BenchmarkError("raw HGETs found \(result.found) of \(lookups)") }
        return Double(result.lookups) / result.seconds
    }

    private struct RawResult: Decodable {
        let lookups: Int
        let found: Int
        let seconds: Double
    }

    /// Keys and fields that the raw HGETs ask for.
    private func fields(_ lookups: Int) throws -> Data {
        let clients = clients
        let indices = (0..<lookups).map { index(ofLookUp: $0) }
        return try clients.eventLoop.submit {
            var data = Data()
            for index in indices {
                let token = Self.token(index)
                let key = clients.value.table.key(of: token, in: clients.value.spaces[index % 10])
                data.append(contentsOf: [UInt8(key.count & 255), UInt8(key.count >> 8)])
                data.append(contentsOf: key)
                data.append(contentsOf: Self.rule?.field(of: token) ?? token)
            }
            return data
        }.wait()
    }

    // MARK: Pipelining

    /// Makes `total` calls, so many at a time that four windows are under way, and waits for their ends.
    ///
    /// - Parameter begin: begins those of one window; `done` takes the result of each.
    private func run(
        _ total: Int,
        _ begin: @escaping @Sendable (Clients, _ numbers: Range<Int>, _ done: @escaping CallPipeline.Done) -> Void
    ) throws {
        let clients = clients
        try clients.eventLoop.flatSubmit {
            let promise = clients.eventLoop.makePromise(of: Void.self)
            let pipeline = CallPipeline(total: total, window: Self.window, promise: promise) { numbers, done in
                begin(clients.value, numbers, done)
            }
            pipeline.start()
            return promise.futureResult
        }.wait()
    }
}

/// Calls under way on one event loop.
private final class CallPipeline {
    typealias Done = (Result<Void, RedisError>) -> Void

    private let total: Int
    private let window: Int
    private let promise: EventLoopPromise<Void>
    private let begin: (_ numbers: Range<Int>, _ done: @escaping Done) -> Void
    private var begun = 0
    private var ended = 0

    init(
        total: Int,
        window: Int,
        promise: EventLoopPromise<Void>,
        begin: @escaping (_ numbers: Range<Int>, _ done: @escaping Done) -> Void
    ) {
        self.total = total
        self.window = window
        self.promise = promise
        self.begin = begin
    }

    func start() {
        for _ in 0..<4 { beginWindow() }
    }

    private func beginWindow() {
        let numbers = begun..<min(begun + window, total)
        begun = numbers.upperBound
        begin(numbers) { self.finish($0) }
    }

    private func finish(_ result: Result<Void, RedisError>) {
        if case .failure(let error) = result { return promise.fail(error) }
        ended += 1
        if ended == total { return promise.succeed() }
        if ended.isMultiple(of: window) { beginWindow() }
    }
}
