import Foundation
import PipelineCore
import Testing

@testable import ProviderCredentials

@Suite("Looks at files that may change")
final class FileWatchTests {
    private let files: CertificateFiles
    private var watch = FileWatch(readingEvery: .seconds(30), now: MonotonicTime(nanoseconds: 0))

    init() throws { files = try CertificateFiles() }

    private func look() -> FileLook { FileLook(directory: files.directory, files: [files.path("elsewhere/ca.pem")]) }

    private func isDue(at second: UInt64) -> Bool {
        watch.isDue(look(), now: MonotonicTime(nanoseconds: second * 1_000_000_000))
    }

    @Test("What has changed is read when it stands still, and once")
    func standsStill() throws {
        #expect(!isDue(at: 1))
        #expect(isDue(at: 2), "what was read before the first look is unknown")
        #expect(!isDue(at: 3))
        try files.write("half", to: "news.pem")
        #expect(!isDue(at: 4))
        try files.write("half and the rest", to: "news.pem")
        #expect(!isDue(at: 5))
        #expect(isDue(at: 6))
        #expect(!isDue(at: 7))
    }

    @Test("What seems unchanged is read at intervals")
    func intervals() {
        let due = (1...100).filter { isDue(at: $0) }
        #expect(due == [2, 32, 62, 92])
    }

    @Test("A change that is read while it goes on is read again when it is over")
    func changesAtInterval() throws {
        for second in 1...31 { _ = isDue(at: UInt64(second)) }
        try files.write("half", to: "news.pem")
        #expect(isDue(at: 32))
        try files.write("half and the rest", to: "news.pem")
        #expect(!isDue(at: 33))
        #expect(isDue(at: 34))
    }

    @Test("Files that come, go or are others, in place or behind a link, make another look")
    func changes() throws {
        let manager = FileManager.default
        var looks = [look()]
        func expectNews(_ what: String) {
            let next = look()
            #expect(next == look() && next != looks.last, "\(what)")
            looks.append(next)
        }
        for version in ["..1", "..2"] {
            try manager.createDirectory(atPath: files.path(version), withIntermediateDirectories: false)
            try files.write("key of \(version)", to: "\(version)/news.pem")
        }
        try manager.createSymbolicLink(atPath: files.path("..data"), withDestinationPath: "..1")
        try manager.createSymbolicLink(atPath: files.path("news.pem"), withDestinationPath: "..data/news.pem")
        expectNews("a link comes")
        // As a mounted secret is exchanged: a new link takes the place of the old one.
        try manager.createSymbolicLink(atPath: files.path("..data_tmp"), withDestinationPath: "..2")
        #expect(rename(files.path("..data_tmp"), files.path("..data")) == 0)
        expectNews("the link leads elsewhere")
        try files.write("more than before", to: "..2/news.pem")
        expectNews("the content is another one")
        try manager.createDirectory(atPath: files.path("elsewhere"), withIntermediateDirectories: false)
        try files.write("roots", to: "elsewhere/ca.pem")
        expectNews("a file beside the directory comes")
        try files.write("other roots", to: "elsewhere/ca.pem")
        expectNews("a file beside the directory is another one")
        try files.write("key of a team", to: "elsewhere/AuthKey_A.p8")
        expectNews("a file in a directory of the directory comes")
        try manager.removeItem(atPath: files.path("news.pem"))
        expectNews("a file goes")
    }
}
