import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// The lists of faults beside the code.
struct FaultDocumentTests {
    private static let sandbox = Repository.top.appending(path: "Sources/Sandbox")
    private static let names = Fault.Name.allCases.map(\.rawValue).sorted()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: sandbox.appending(path: path), encoding: .utf8)
    }

    @Test("The faults that README.md explains are those that the service has")
    func table() throws {
        let table = try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
            .drop { !$0.hasPrefix("| fault |") }.prefix { $0.hasPrefix("|") }
        let explained = table.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`([a-z-]+)`/).map { String($0.1) }
        }
        #expect(explained.sorted() == Self.names)
    }

    @Test("The page has a switch for every fault of the service, and for no other")
    func page() throws {
        let listed = try Self.text("Page/Files/fault-list.js").matches(of: /\bname: "([a-z-]+)"/).map { String($0.1) }
        #expect(listed.sorted() == Self.names)
    }
}
