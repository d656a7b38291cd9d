import NIOCore
import PushSchemas
import RedisClient
import TokenState

/// Looks living tokens up as a worker does: those of a window together, and four windows under way.
///
/// Bound to the event loop of its table.
final class LookUpPipeline: TokenReader {
    private static let window = TokenStateScenario.window

    private let table: TokenTable
    private let total: Int
    private let promise: EventLoopPromise<Void>
    private let token: (_ number: Int) -> (UnsafeRawBufferPointer, TokenTable.Space)
    private var begun = 0
    private var ended = 0

    /// - Parameters:
    ///   - promise: fulfilled when all have their answers, failed when one is missing, dead or cannot be read.
    ///   - token: the token of a number, which stays valid, and the space of its bundle.
    init(
        of table: TokenTable,
        total: Int,
        _ promise: EventLoopPromise<Void>,
        token: @escaping (_ number: Int) -> (UnsafeRawBufferPointer, TokenTable.Space)
    ) {
        self.table = table
        self.total = total
        self.promise = promise
        self.token = token
    }

    func start() {
        for _ in 0..<4 { beginWindow() }
    }

    private func beginWindow() {
        let numbers = begun..<min(begun + Self.window, total)
        begun = numbers.upperBound
        let lookUps = table.lookUps(for: self, capacity: numbers.count)
        table.together {
            for number in numbers {
                let (token, space) = token(number)
                lookUps.add(token, checksum: CRC32.checksum(token), in: space, number: number)
            }
        }
    }

    func read(_ result: Result<UnsafeRawBufferPointer?, RedisError>, ofToken number: Int) {
        switch result {
        case .failure(let error): return promise.fail(error)
        case .success(let value):
            guard let value, TokenRecord.reasonOfDeath(value) == nil else {
                return promise.fail(BenchmarkError("token \(number) is missing, or dead"))
            }
        }
        ended += 1
        if ended == total { return promise.succeed() }
        if ended.isMultiple(of: Self.window) { beginWindow() }
    }
}
