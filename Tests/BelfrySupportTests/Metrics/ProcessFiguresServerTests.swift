import Testing

@testable import BelfrySupport

@Suite struct ProcessFiguresServerTests {
    private let units = ProcessFigures.Units(ticksPerSecond: 100, pageBytes: 4096)
    private let system = "cpu  1 2 3\nbtime 1700000000\nprocesses 5\n"

    /// With the fields of the manual from the 4th on: each is its number, times ten.
    private func stat(name: String) -> String {
        "42 (\(name)) S " + (4...52).map { "\($0 * 10)" }.joined(separator: " ") + "\n"
    }

    @Test("The figures stand in the fields that proc(5) names, whatever the program is called")
    func fields() throws {
        for name in ["belfry", "a b", "x) R 1 (y"] {
            let figures = try #require(
                ProcessFigures(ownStat: stat(name: name), systemStat: system, units: units)
            )
            #expect(figures.cpuSeconds == 2.9)
            #expect(figures.threads == 200)
            #expect(figures.startedAt == 1_700_000_002.2)
            #expect(figures.virtualBytes == 230 && figures.residentBytes == 240 * 4096)
        }
    }

    @Test("Files that are not as expected give no figures")
    func malformed() {
        #expect(ProcessFigures(ownStat: "", systemStat: system, units: units) == nil)
        #expect(ProcessFigures(ownStat: "42 (belfry) S 1 2", systemStat: system, units: units) == nil)
        #expect(ProcessFigures(ownStat: stat(name: "belfry"), systemStat: "cpu 1\n", units: units) == nil)
    }

    @Test("This process has memory, open files and an age")
    func here() throws {
        let figures = try #require(ProcessFigures.ofThisProcess())
        #expect(figures.residentBytes > 1 << 20 && figures.virtualBytes >= figures.residentBytes)
        #expect(try #require(figures.openDescriptors) > 2)
        #expect(figures.startedAt > 1_700_000_000 && figures.threads > 0 && figures.cpuSeconds >= 0)
    }
}
