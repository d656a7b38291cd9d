/// Faults that come and go by themselves:
///
/// ```json
/// {"seed": 7, "steps": [
///   {"at": 1.5, "fault": {"name": "answer-delay", "milliseconds": 50}},
///   {"at": 9, "clear": "answer-delay"},
///   {"at": 10, "clear": true}
/// ]}
/// ```
///
/// `at` is in seconds since the start, `fault` is what `POST /faults` takes, `clear` may have a `topic` beside it. The
/// order in the file does not matter, except among steps of the same time.
///
/// Pure: the time is an argument.
struct FaultScript: Equatable, Sendable {
    struct Step: Equatable, Sendable {
        /// Nanoseconds since the start.
        let at: Int64
        /// Place of the step's request in the file, as in `steps[3].fault`.
        let place: String
        let request: FaultsRequest
    }

    /// Seed from which chances are drawn.
    let seed: UInt64?
    /// By time.
    let steps: [Step]
    private var next = 0

    /// - Parameter json: the file.
    /// - Throws: ``ControlError`` naming the field, as in `steps[3].fault.count`.
    init(json: [UInt8]) throws(ControlError) {
        var fields = try ControlFields(body: json)
        seed = try fields.integer("seed", in: 0...Int.max).map { UInt64($0) }
        var steps: [Step] = []
        for (index, fields) in try fields.requiredObjects("steps", limit: FaultLimits.steps).enumerated() {
            let place = "steps[\(index)]"
            do {
                steps.append(try Self.step(fields, place))
            } catch {
                throw error.inside(place)
            }
        }
        try fields.finish()
        // Stable, as the order of the file decides among equals.
        self.steps = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(
            \.element
        )
    }

    private static func step(_ given: ControlFields, _ place: String) throws(ControlError) -> Step {
        var fields = given
        let seconds = try fields.requiredNumber("at", in: FaultLimits.stepSeconds)
        let at = Int64((seconds * 1e9).rounded())
        guard let fault = try fields.object("fault") else {
            guard fields.has("clear") else { throw fields.missing("fault") }
            return Step(at: at, place: place, request: try FaultsRequest(fields))
        }
        try fields.finish()
        do {
            return Step(at: at, place: "\(place).fault", request: try FaultsRequest(fault))
        } catch {
            throw error.inside("fault")
        }
    }

    /// The time at which the next step is due, in nanoseconds since the start; `nil` = that was the last.
    var nextAt: Int64? {
        next < steps.count ? steps[next].at : nil
    }

    /// The steps that are due and were not asked for before, by their position in ``steps``.
    ///
    /// - Parameter now: nanoseconds since the start.
    mutating func takeDue(now: Int64) -> Range<Int> {
        let first = next
        while next < steps.count, steps[next].at <= now { next += 1 }
        return first..<next
    }
}
