import Foundation

/// A result as one line of JSON, its fields in the order of their names. What is nil has no field.
struct ResultLine {
    private var fields: [String: FieldValue] = [:]

    init() {}

    init(scenario: String) {
        add("scenario", scenario)
    }

    /// The judgement: the targets that the result misses, in words.
    mutating func judge(missed: [String]) {
        add("passed", missed.isEmpty)
        fields["missed"] = .texts(missed)
    }

    mutating func add(_ name: String, _ text: String) {
        fields[name] = .text(text)
    }

    mutating func add(_ name: String, _ flag: Bool) {
        fields[name] = .flag(flag)
    }

    mutating func add(_ name: String, _ count: Int?) {
        fields[name] = count.map { .number(Decimal($0)) }
    }

    mutating func add(_ name: String, _ value: Double?, digits: Int) {
        fields[name] = value.map { .number(rounded($0, digits: digits)) }
    }

    mutating func add(_ name: String, _ values: [Double], digits: Int) {
        fields[name] = .numbers(Self.decimals(values, digits: digits))
    }

    mutating func add(_ name: String, _ rows: [[Double]], digits: Int) {
        fields[name] = .rows(rows.map { Self.decimals($0, digits: digits) })
    }

    mutating func add(_ name: String, _ line: ResultLine) {
        fields[name] = .line(line.fields)
    }

    mutating func add(_ name: String, _ lines: [ResultLine]) {
        fields[name] = .lines(lines.map(\.fields))
    }

    /// The median, and behind `_spread` the smallest and the largest value.
    mutating func add(_ name: String, _ samples: Samples, digits: Int) {
        add(name, samples.median, digits: digits)
        add("\(name)_spread", samples.spread, digits: digits)
    }

    /// The medians of several measures in one field, and their spreads in another.
    mutating func add(_ name: String, each samples: [Samples], digits: Int) {
        add(name, samples.map(\.median), digits: digits)
        add("\(name)_spread", samples.map(\.spread), digits: digits)
    }

    /// Rate and CPU time of a contender, each with its spread.
    mutating func add(_ contender: ContenderSamples, rate: String, cpu: String) {
        add(rate, contender.rate, digits: 0)
        add(cpu, contender.cpuMicroseconds, digits: 3)
    }

    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(fields), as: UTF8.self)
    }

    private static func decimals(_ values: [Double], digits: Int) -> [Decimal] {
        values.map { rounded($0, digits: digits) }
    }
}

/// A number as it is to be printed: a Decimal prints the digits meant, a Double sometimes many more.
func rounded(_ value: Double, digits: Int) -> Decimal {
    Decimal(string: String(format: "%.\(digits)f", value)) ?? 0
}

private enum FieldValue: Encodable {
    case number(Decimal)
    case numbers([Decimal])
    case rows([[Decimal]])
    case text(String)
    case texts([String])
    case flag(Bool)
    case line([String: FieldValue])
    case lines([[String: FieldValue]])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let value): try container.encode(value)
        case .numbers(let values): try container.encode(values)
        case .rows(let rows): try container.encode(rows)
        case .text(let text): try container.encode(text)
        case .texts(let texts): try container.encode(texts)
        case .flag(let flag): try container.encode(flag)
        case .line(let line): try container.encode(line)
        case .lines(let lines): try container.encode(lines)
        }
    }
}
