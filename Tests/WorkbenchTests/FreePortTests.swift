import Testing
import Workbench

@Suite("A free port")
struct FreePortTests {
    @Test("Lies below those that the system gives, and so does the one above it that is asked for")
    func range() throws {
        #expect((15_000..<32_000).contains(try freePort()))
        #expect((15_000..<22_000).contains(try freePort(busDistance: 10_000)))
    }
}
