import APNsProtocol
import Testing

@Suite("Channels of broadcasts")
struct ChannelIDTests {
    @Test("A channel id is base64 with padding, at most 100 characters")
    func valid() {
        for id in ["AAAA", "dHN0LXNyY2gtY2hubA==", "+/A=", String(repeating: "a", count: 100)] {
            #expect(ChannelID.isValid(id))
        }
    }

    @Test("A text with other characters, or not of whole groups, is no channel id")
    func invalid() {
        let texts = ["", "A", "AAA", "AAAAA", "AA-_", "A===", "====", "AA=A", "AA A", "ä==", "AAAA\n"]
        for id in texts + [String(repeating: "a", count: 104)] { #expect(!ChannelID.isValid(id), "\(id)") }
    }

    @Test("The same bytes in a second spelling are no channel id, for it would be a second channel")
    func secondSpelling() {
        for (first, second) in [("AA==", "AB=="), ("AAA=", "AAB="), ("AQ==", "Af==")] {
            #expect(ChannelID.isValid(first) && !ChannelID.isValid(second))
        }
    }

    @Test("The paths of broadcasts and of their management name a bundle", arguments: ["com.example.news", "a"])
    func paths(bundle: String) {
        let paths: [(BroadcastPath, String)] = [
            (.broadcast(bundle: bundle), "/4/broadcasts/apps/\(bundle)"),
            (.channels(bundle: bundle), "/1/apps/\(bundle)/channels"),
            (.allChannels(bundle: bundle), "/1/apps/\(bundle)/all-channels"),
        ]
        for (path, text) in paths {
            #expect(path.text == text && path.bundle == bundle)
            #expect(BroadcastPath(text) == path)
        }
    }

    @Test("Other paths are none of them")
    func otherPaths() {
        let texts = [
            "", "/", "/3/device/00", "/4/broadcasts/apps/", "/4/broadcasts/apps/a/b", "/4/broadcasts",
            "/1/apps//channels", "/1/apps/a", "/1/apps/a/b/channels", "/1/apps/all-channels", "/1/apps/a/channels/",
        ]
        for text in texts { #expect(BroadcastPath(text) == nil, "\(text)") }
    }
}
