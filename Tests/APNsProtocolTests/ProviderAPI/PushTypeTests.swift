import APNsProtocol
import Testing

@Suite struct PushTypeTests {
    @Test(
        "Every push type has its suffix, limit and priorities",
        arguments: [
            (.alert, "", 4096, [10, 5]), (.background, "", 4096, [5]), (.voip, ".voip", 5120, [10, 5, 1]),
            (.complication, ".complication", 4096, [10, 5, 1]),
            (.fileprovider, ".pushkit.fileprovider", 4096, [10, 5, 1]),
            (.location, ".location-query", 4096, [10, 5]),
            (.liveactivity, ".push-type.liveactivity", 4096, [10, 5, 1]),
            (.pushtotalk, ".voip-ptt", 4096, [10, 5, 1]), (.widgets, ".push-type.widgets", 4096, [10, 5, 1]),
            (.controls, ".push-type.controls", 4096, [10, 5, 1]), (.mdm, "", 4096, [10, 5, 1]),
        ] as [(PushType, String, Int, [UInt8])]
    )
    func table(type: PushType, suffix: String, limit: Int, priorities: [UInt8]) {
        #expect(type.topicSuffix == suffix)
        #expect(type.payloadLimitBytes == limit)
        #expect(ProviderPriority.allCases.filter(type.allows).map(\.rawValue) == priorities)
        #expect(PushType(rawValue: "\(type)") == type)
    }

    @Test("Live Activities, widgets, controls, File Provider and queries for the location need a provider token")
    func providerTokens() {
        let needing = PushType.allCases.filter(\.needsProviderToken)
        #expect(needing == [.fileprovider, .location, .liveactivity, .widgets, .controls])
    }

    @Test("Kinds of topics have the numbers that are stored, and the names of their suffixes")
    func kinds() {
        let kinds = PushType.allCases.map(\.topicKind)
        #expect(kinds.map(\.rawValue) == [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1])
        for type in PushType.allCases {
            #expect(type.topicKind.name == (type.topicSuffix.isEmpty ? "app" : String(type.topicSuffix.dropFirst())))
        }
        #expect(TopicKind(rawValue: 200).name == "kind-200")
    }

    @Test("Push types that are shown, or brought up to date, need aps; mdm has none")
    func aps() {
        let needing = PushType.allCases.filter { $0.aps == .required }
        #expect(needing == [.alert, .liveactivity, .widgets, .controls])
        #expect(PushType.allCases.filter { $0.aps == .forbidden } == [.mdm])
    }

    @Test("A topic is the bundle ID with the suffix, and gives both back", arguments: PushType.allCases)
    func topics(type: PushType) {
        let topic = type.topic(bundle: "com.example.news")
        #expect(type.bundle(ofTopic: topic) == "com.example.news")
        #expect(PushType.named(bySuffixOf: topic) == (type.topicSuffix.isEmpty ? nil : type))
        #expect(type.bundle(ofTopic: type.topicSuffix) == nil)
        if !type.topicSuffix.isEmpty { #expect(type.bundle(ofTopic: "com.example.news") == nil) }
    }

    @Test("A priority that a push type does not allow becomes the next one that it does")
    func allowed() {
        #expect(PushType.background.allowed(.immediate) == .powerSaving)
        #expect(PushType.alert.allowed(.neverWaking) == .powerSaving)
        #expect(PushType.alert.allowed(.immediate) == .immediate)
        for type in PushType.allCases {
            for priority in ProviderPriority.allCases { #expect(type.allows(type.allowed(priority))) }
        }
    }

    @Test("Priorities are read as they are written, and nothing else is one")
    func priorities() {
        for priority in ProviderPriority.allCases {
            let text = Array("\(priority.headerValue)".utf8)
            #expect("\(priority.rawValue)" == "\(priority.headerValue)")
            #expect(text.withUnsafeBytes { ProviderPriority(headerValue: $0) } == priority)
        }
        for text in ["", "0", "2", "11", "010", " 5", "5 ", "-1", "1O"] {
            #expect(Array(text.utf8).withUnsafeBytes { ProviderPriority(headerValue: $0) } == nil)
        }
    }

    @Test(
        "The push type is inferred from the keys of aps",
        arguments: [
            (#"{"aps":{"alert":"Hi"}}"#, .alert), (#"{"aps":{"badge":0}}"#, .alert),
            (#"{"aps":{"sound":"default"}}"#, .alert), (#"{"aps":{"content-available":1}}"#, .background),
            (#"{"a":[{"alert":1}],"aps":{"content-available":1,"x":{"alert":1}},"alert":1}"#, .background),
            (#"{"aps":{"content-available":1,"badge":3}}"#, .alert),
            (#"{"aps":{"\u0061lert":"Hi","content-available":1}}"#, .alert),
            (#"{"\u0061ps":{"content-available":1}}"#, .background),
            (#"{"aps":{}}"#, .alert), (#"{"aps":{"mutable-content":1}}"#, .alert),
            (#"{"aps":{"event":"end","timestamp":1,"content-state":{}}}"#, .liveactivity),
            (#"{"aps":{"content-state":{"n":1},"alert":{"title":"x"},"content-available":1}}"#, .liveactivity),
            (#"{"aps":{"alert":"\u00e9t\u00E9","e\u0076ent":"end"}}"#, .liveactivity),
            (#"{"aps":{"content\u002davailable":1}}"#, .background), (#"{"aps":{"alert":"\u00"#, .alert),
            (#"{"content-available":1}"#, .alert), ("", .alert), ("{", .alert), ("[1]", .alert), ("\u{0}", .alert),
            (#"{"aps":1}"#, .alert), (#"{"aps":{"content-available":1}"#, .alert),
        ] as [(String, PushType)]
    )
    func inference(payload: String, type: PushType) {
        #expect(PushType(inferredFrom: Array(payload.utf8)) == type)
    }

    @Test(
        "Over the binary interface a payload that only wakes the app goes with priority 5, any other as it is said",
        arguments: [
            (#"{"aps":{"content-available":1}}"#, .powerSaving), (#"{"aps":{"content-available":0}}"#, .powerSaving),
            (#"{"aps":{"\u0063ontent-available":1},"alert":1}"#, .powerSaving),
            (#"{"aps":{"content-available":1,"content-state":{}}}"#, .powerSaving),
            (#"{"aps":{"content-available":1,"badge":3}}"#, .immediate),
            (#"{"aps":{"content-available":1,"alert":"Hi"}}"#, .immediate),
            (#"{"aps":{"content-available":1,"sound":""}}"#, .immediate),
            (#"{"aps":{}}"#, .immediate), (#"{"content-available":1,"aps":{}}"#, .immediate), ("{", .immediate),
        ] as [(String, NotificationPriority)]
    )
    func allowedPriority(payload: String, priority: NotificationPriority) {
        Array(payload.utf8).withUnsafeBytes { payload in
            #expect(NotificationPriority.immediate.allowed(for: payload) == priority)
            #expect(NotificationPriority.powerSaving.allowed(for: payload) == .powerSaving)
        }
    }

    @Test("A payload as deep as a payload may be has its push type")
    func deepPayload() throws {
        let arrays = PayloadScanner.depthLimit - 1
        let nested = String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays)
        let payload = Array(#"{"x":\#(nested),"aps":{"content-available":1}}"#.utf8)
        #expect(try PayloadScanner.stripped(payload, limitBytes: PayloadLimit.http2) == payload)
        #expect(PushType(inferredFrom: payload) == .background)
    }
}
