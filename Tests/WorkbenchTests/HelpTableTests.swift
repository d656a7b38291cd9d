import Testing

@testable import Workbench

@Suite("A table in a program's help")
struct HelpTableTests {
    private let table = HelpTable(
        "Fields",
        prefixes: ["floor_"],
        """
        rate, cpu_us: notifications a second, and microseconds for each of them; a meaning that is longer than one line: 2
        steps, steps[].seconds: the time of each
        """
    )

    @Test("Each meaning stands below its names, in 80 columns")
    func text() {
        let expected = """
            Fields:

              rate, cpu_us
                  notifications a second, and microseconds for each of them; a meaning
                  that is longer than one line: 2
              steps, steps[].seconds
                  the time of each

            """
        #expect(table.text == expected)
        #expect(table.text.split(separator: "\n").allSatisfy { $0.count < 80 })
    }

    @Test("A field without a row is found, its spread and the same of another process are not")
    func unexplained() throws {
        let fields = ["rate", "rate_spread", "floor_cpu_us", "floor_", "cpu", "a"]
        #expect(table.unexplained(fields) == ["a", "cpu", "floor_"])
        let line = #"{"rate":1,"steps":[{"seconds":2,"other":3}],"kinds":{"x":1}}"#
        #expect(try table.unexplained(inLine: line) == ["kinds", "steps[].other"])
    }
}
