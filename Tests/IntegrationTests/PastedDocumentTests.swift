import Foundation
import FoundationNetworking
import Testing

extension IntegrationTests {
    /// The blocks that documents tell a newcomer to paste.
    struct PastedDocumentTests {
        /// A tour through the whole pipeline.
        struct Tour: CustomTestStringConvertible {
            var path: String
            /// Beginnings of the commands behind which the page says what they print; "…" is anything.
            var promising = [
                "cat broker.json", "wait $!", "until show", "belfry outcomes --from beginning --count 4",
            ]
            /// Counts of the sandbox that the page tells.
            var counts = ["accepted", "delivered"]

            var testDescription: String { path }
        }

        private static let tours = [
            Tour(path: "README.md"),
            Tour(
                path: "Sources/Sandbox/BINARY.md",
                counts: ["accepted", "delivered", "feedback"]
            ),
        ]

        @Test("Pasted into a shell, block after block, the tours over both transports go as they say", arguments: tours)
        func tenMinutes(tour: Tour) async throws {
            let page = try PastedDocument(tour.path)
            defer { page.kill() }
            var kept: [String] = []
            for (index, block) in page.blocks.enumerated() {
                // The test machine need not have curl.
                if block.hasPrefix("curl ") {
                    try await checkCounts(tour.counts, page)
                    continue
                }
                let lines = try page.paste(block)
                if let output = page.outputs[index] {
                    let expected = output.split(separator: "\n").map { PastedDocument.masked($0) }
                    #expect(lines.map { PastedDocument.masked($0) } == expected)
                }
                let said = PastedDocument.masked(lines.joined(separator: ", "))
                for words in tour.promising {
                    guard let promise = PastedDocument.comment(behind: words, in: block) else { continue }
                    kept.append(words)
                    var rest = said[...]
                    for part in PastedDocument.masked(promise).split(separator: "…") {
                        let found = try #require(rest.firstRange(of: part), "\(words): \(promise), said was \(said)")
                        rest = rest[found.upperBound...]
                    }
                }
            }
            #expect(kept == tour.promising, "each is on the page, in this order")
            #expect(try page.leave() == 0)
        }

        @Test("Pasted into a shell, the tour of Schemas puts notifications on a device, and tells of a mistake")
        func schemas() throws {
            let document = try PastedDocument("Schemas/README.md")
            defer { document.kill() }
            for (index, block) in document.blocks.enumerated() {
                let lines = try document.paste(block).map { PastedDocument.masked($0) }
                guard let output = document.outputs[index] else { continue }
                let shown = output.split(separator: "\n").map { PastedDocument.masked($0) }
                #expect(lines.count == shown.count, "\(lines)")
                for (line, expected) in zip(lines, shown) {
                    #expect(PastedDocument.isShown(line, as: expected), "\(line)\nis not\n\(expected)")
                }
            }
            #expect(document.outputs.count == 3, "identifiers; what the device got, and outcomes; a dead letter")
            #expect(try document.leave() == 0)
        }

        @Test("A line is shown by its parts, in their order, with anything in place of the dots")
        func shownLines() {
            #expect(PastedDocument.isShown("a=1,b=2", as: "a=1,b=2") && !PastedDocument.isShown("a=1,b=2", as: "a=1"))
            #expect(PastedDocument.isShown("a=1,b=2,c=3", as: "a=…,b=2…"))
            #expect(!PastedDocument.isShown("b=2,a=1", as: "…a=1…b=2…"))
            #expect(!PastedDocument.isShown("a=1,b=2", as: "…a=1") && !PastedDocument.isShown("ab", as: "ab…b"))
        }

        /// Words of blocks in the sandbox's document, and of the answers to them.
        private static let answers = [
            ("s_client", #"{"accepted":[2],"complete":true,"device":0,"topic":"com.example.news"}"#),
            ("/3/device/", "HTTP/2 200"), ("/4/broadcasts/", #""marks":[4],"storagePolicy":0"#),
            ("/devices", #"{"changed":100}"#), ("/feedback", #"{"listed":3}"#),
            ("/faults", #""name":"error-response","probability":0.001,"status":8,"strikes":0"#),
        ]

        @Test("Pasted into a shell, the sandbox's document goes as it says, block after block")
        func sandbox() throws {
            let document = try PastedDocument("Sources/Sandbox/README.md")
            defer { document.kill() }
            var kept: [String] = []
            for block in document.blocks {
                // A stream of events has no end.
                let finite = block.split(separator: "\n").filter { !$0.contains(" -N ") }.joined(separator: "\n")
                let said = try document.paste(finite).joined(separator: "\n")
                for (words, answer) in Self.answers where block.contains(words) {
                    kept.append(words)
                    #expect(said.contains(answer), "\(said)")
                }
            }
            #expect(kept == Self.answers.map(\.0), "each is in the document, in this order")
            #expect(try document.paste("wc -l < tokens.txt").map { $0.filter(\.isNumber) } == ["3"])
            #expect(document.text.contains("`kill \"$sandbox\"` ends it"))
            _ = try document.paste("kill \"$sandbox\"\nwait")
            #expect(try document.leave() == 0)
        }

        /// The sandbox counted what the page says.
        private func checkCounts(_ counts: [String], _ page: PastedDocument) async throws {
            let said = page.text.matches(of: /`"(\w+)":(\d+)`/).map { (String($0.1), Int($0.2)) }
            #expect(said.map(\.0) == counts)
            let url = try #require(URL(string: "http://127.0.0.1:\(page.controlPort)/stats"))
            let stats = try JSONSerialization.jsonObject(with: try await URLSession.shared.data(from: url).0)
            let topics = (stats as? [String: Any])?["topics"] as? [String: [String: Any]]
            for (name, count) in said { #expect(topics?[news]?[name] as? Int == count, "\(name)") }
        }
    }
}
