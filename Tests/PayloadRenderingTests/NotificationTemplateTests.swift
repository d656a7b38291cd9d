import PushSchemas
import SwiftProtobuf
import Testing

@testable import PayloadRendering

@Suite("Notifications in parts, made into payloads")
struct NotificationTemplateTests {
    private func payload(
        language: Int = 0,
        overrides: TokenOverrides = TokenOverrides(),
        limit: Int = 4096,
        _ fill: (inout PushNotification) -> Void
    ) throws -> String {
        let template = try NotificationTemplate(PushNotification.with(fill))
        let bytes = try template.payload(language: language, overrides: overrides, limitBytes: limit)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func fault(_ fill: (inout PushNotification) -> Void) -> String? {
        do throws(NotificationFault) {
            _ = try NotificationTemplate(PushNotification.with(fill))
            return nil
        } catch {
            return "\(error)"
        }
    }

    // MARK: Keys

    @Test("Nothing but a body becomes the plain string; anything else, an object")
    func alerts() throws {
        #expect(try payload { $0.alert.body = "Hi" } == #"{"aps":{"alert":"Hi"}}"#)
        let whole = try payload {
            $0.alert = PushAlert.with {
                $0.title = "t"
                $0.subtitle = "s"
                $0.body = "b"
                $0.locKey = "k"
                $0.locArgs = ["1", "2"]
                $0.titleLocKey = "tk"
                $0.titleLocArgs = ["3"]
                $0.subtitleLocKey = "sk"
                $0.subtitleLocArgs = ["4"]
                $0.actionLocKey = "ak"
                $0.launchImage = "i.png"
                $0.summaryArg = "sum"
            }
        }
        #expect(
            whole == #"{"aps":{"alert":{"title":"t","subtitle":"s","body":"b","loc-key":"k","loc-args":["1","2"],"#
                + #""title-loc-key":"tk","title-loc-args":["3"],"subtitle-loc-key":"sk","subtitle-loc-args":["4"],"#
                + #""action-loc-key":"ak","launch-image":"i.png","summary-arg":"sum"}}}"#
        )
        let closing = try payload {
            $0.alert.body = "b"
            $0.alert.withoutAction = true
        }
        #expect(closing == #"{"aps":{"alert":{"body":"b","action-loc-key":null}}}"#)
        #expect(try payload { $0.alert = PushAlert() } == #"{"aps":{}}"#)
    }

    @Test("A payload has all keys of aps, and the app's own beside it in one order")
    func keys() throws {
        let text = try payload {
            $0.badge.set = 0
            $0.sound = PushSound()
            $0.contentAvailable = true
            $0.mutableContent = true
            $0.category = "c"
            $0.threadID = "t"
            $0.targetContentID = "w"
            $0.interruptionLevel = "time-sensitive"
            $0.relevanceScore = 0.25
            $0.filterCriteria = "f"
            let list: Google_Protobuf_ListValue = [true, "é", 1.5, 1e20]
            let inner: Google_Protobuf_Struct = ["x": nil, "b": .init(listValue: list)]
            $0.custom = ["z": 1, "a": .init(structValue: inner)]
        }
        #expect(
            text == #"{"aps":{"badge":0,"sound":"default","content-available":1,"mutable-content":1,"category":"c","#
                + #""thread-id":"t","target-content-id":"w","interruption-level":"time-sensitive","#
                + #""relevance-score":0.25,"filter-criteria":"f"},"a":{"b":[true,"é",1.5,1e+20],"x":null},"z":1}"#
        )
    }

    @Test("A sound is a name, or an object if it is critical or has a volume")
    func sounds() throws {
        #expect(try payload { $0.sound.name = "a.caf" } == #"{"aps":{"sound":"a.caf"}}"#)
        let critical = try payload {
            $0.sound.critical = true
            $0.sound.volume = 1
        }
        #expect(critical == #"{"aps":{"sound":{"critical":1,"name":"default","volume":1}}}"#)
    }

    @Test("A live activity has its own keys")
    func liveActivity() throws {
        let text = try payload {
            $0.liveActivity = PushLiveActivity.with {
                $0.event = "start"
                $0.timestamp = 1_700_000_000
                $0.contentState = ["score": 2]
                $0.staleDate = 1_700_000_100
                $0.dismissalDate = 1_700_000_200
                $0.attributesType = "Game"
                $0.attributes = ["id": "g"]
            }
        }
        #expect(
            text == #"{"aps":{"event":"start","timestamp":1700000000,"content-state":{"score":2},"#
                + #""stale-date":1700000100,"dismissal-date":1700000200,"attributes-type":"Game","#
                + #""attributes":{"id":"g"}}}"#
        )
    }

    @Test("Only what JSON demands is escaped")
    func escapes() throws {
        let text = try payload { $0.alert.body = "\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1f}\u{7f}é🚀" }
        #expect(text == #"{"aps":{"alert":"\"\\/\b\t\n\f\r\u0000\u001f"# + "\u{7f}é🚀\"}}")
    }

    // MARK: Languages and overrides

    @Test("A localization is whole, and tokens with a badge or arguments of their own get them")
    func variants() throws {
        func fill(_ notification: inout PushNotification) {
            notification.alert.title = "Goal"
            notification.localizations["de"] = PushAlert.with {
                $0.locKey = "goal"
                $0.locArgs = ["x"]
            }
            notification.badge.set = 1
        }
        var own = TokenOverrides()
        own.badge = 7
        #expect(try payload(fill) == #"{"aps":{"alert":{"title":"Goal"},"badge":1}}"#)
        #expect(try payload(overrides: own, fill) == #"{"aps":{"alert":{"title":"Goal"},"badge":7}}"#)
        own.locArgs = ["y", "z"]
        #expect(
            try payload(language: 1, overrides: own, fill)
                == #"{"aps":{"alert":{"loc-key":"goal","loc-args":["y","z"]},"badge":7}}"#
        )
    }

    // MARK: Size

    @Test("A payload that is too long is a fault that says so, unless the body may be shortened")
    func tooLong() throws {
        let body = String(repeating: "x", count: 40)
        let frame = #"{"aps":{"alert":""}}"#.utf8.count
        #expect(try payload(limit: frame + 40) { $0.alert.body = body }.utf8.count == frame + 40)
        #expect(throws: NotificationFault.self) { try payload(limit: frame + 39) { $0.alert.body = body } }
        let short = try payload(limit: frame + 39) {
            $0.alert.body = body
            $0.shorten = true
        }
        #expect(short == #"{"aps":{"alert":""# + String(repeating: "x", count: 36) + #"…"}}"#)
        do throws(NotificationFault) {
            let template = try NotificationTemplate(
                PushNotification.with {
                    $0.alert.title = body
                    $0.shorten = true
                }
            )
            _ = try template.payload(limitBytes: 40)
            Issue.record("it is too long")
        } catch {
            #expect("\(error)".hasSuffix("40 are allowed, and there is no body that could be cut"))
        }
        #expect(throws: NotificationFault.self) {
            try payload(limit: frame + 2) {
                $0.alert.body = body
                $0.shorten = true
            }
        }
    }

    @Test("A body is cut between characters, and escapes count")
    func cuts() {
        func cut(_ text: String, toBytes bytes: Int) -> String? {
            EscapedBody(text, isCut: true).beginning(bytes: bytes).map { String(decoding: $0, as: UTF8.self) + "…" }
        }
        #expect(cut("abc", toBytes: 6) == "abc…")
        #expect(cut("abc", toBytes: 5) == "ab…")
        #expect(cut("a\"c", toBytes: 5) == "a…")
        #expect(cut("a\u{1}c", toBytes: 9) == "a…")
        #expect(cut("a👨‍👩‍👧b", toBytes: 21) == "a…", "a family of 18 bytes is one character")
        #expect(cut("a👨‍👩‍👧b", toBytes: 22) == "a👨‍👩‍👧…")
        #expect(cut("abc", toBytes: 3) == "…")
        #expect(cut("abc", toBytes: 2) == nil)
    }

    // MARK: Priority

    @Test("Priority 10 needs something that is noticed; what only wakes the app goes with 5, and the publisher is told")
    func priority() throws {
        func fitted(
            _ priority: UInt8?,
            overridesBadge: Bool = false,
            _ fill: (inout PushNotification) -> Void
        ) throws -> NotificationTemplate.FittedPriority {
            let template = try NotificationTemplate(PushNotification.with(fill))
            try template.check(priority, overridesBadge: overridesBadge)
            var own = TokenOverrides()
            if overridesBadge { own.badge = 1 }
            return template.fitted(priority, overrides: own)
        }
        let noticed: [(inout PushNotification) -> Void] = [
            { $0.alert.body = "b" }, { $0.badge.set = 0 }, { $0.sound = PushSound() },
            { $0.localizations["default"] = PushAlert.with { $0.title = "t" } },
        ]
        for fill in noticed {
            for priority in [nil, 10, 5, 1] as [UInt8?] {
                #expect(try fitted(priority, fill) == .init(priority: priority))
            }
        }
        let woken = try fitted(10) { $0.contentAvailable = true }
        #expect(woken.priority == 5 && woken.warning.contains("priority 10 became 5"))
        #expect(try fitted(nil) { $0.contentAvailable = true } == .init(priority: 5))
        #expect(try fitted(1) { $0.contentAvailable = true } == .init(priority: 1))
        #expect(try fitted(10, overridesBadge: true) { $0.contentAvailable = true } == .init(priority: 10))
        #expect(throws: NotificationFault.self) { try fitted(10) { $0.alert = PushAlert() } }
        #expect(try fitted(nil) { _ in } == .init(priority: 5))
        #expect(
            try fitted(10) {
                $0.liveActivity.event = "end"
                $0.liveActivity.timestamp = 1
            } == .init(priority: 10)
        )
    }

    @Test("Each payload has a priority of its own: one language is noticed, and another only wakes the app")
    func priorityByPayload() throws {
        let template = try NotificationTemplate(
            PushNotification.with {
                $0.contentAvailable = true
                $0.localizations["de"] = PushAlert.with { $0.body = "b" }
            }
        )
        try template.check(10, overridesBadge: false)
        var own = TokenOverrides()
        own.badge = 1
        #expect(template.fitted(10, language: 1) == .init(priority: 10))
        #expect(template.fitted(10, language: 0).priority == 5)
        #expect(template.fitted(10, language: 0).warning.contains("priority 10 became 5"))
        #expect(template.fitted(10, language: 0, overrides: own) == .init(priority: 10))
        #expect(template.fitted(nil, language: 0) == .init(priority: 5))
        #expect(template.fitted(nil, language: 1) == .init(priority: nil))
    }

    @Test("A localization named \"default\" is the text of all other languages")
    func defaultLocalization() throws {
        let template = try NotificationTemplate(
            PushNotification.with {
                $0.localizations["Default"] = PushAlert.with { $0.body = "Goal" }
                $0.localizations["de"] = PushAlert.with { $0.body = "Tor" }
            }
        )
        #expect(template.languageNumbers == 0..<2)
        let payloads = try ["fr", "default", "de-AT"].map { locale in
            let language = template.languages.number(of: locale)
            return String(decoding: try template.payload(language: language, limitBytes: 256), as: UTF8.self)
        }
        #expect(payloads == ["Goal", "Goal", "Tor"].map { #"{"aps":{"alert":"\#($0)"}}"# })
    }

    // MARK: Faults

    @Test("A fault names the field as a path, the finding and what is allowed")
    func faults() {
        let cases: [(String, (inout PushNotification) -> Void)] = [
            (
                "'notification.badge' has no change: one of 'set', 'add' and 'clear' is required",
                { $0.badge = PushBadge() }
            ),
            ("'notification.badge.clear' is false; true is allowed", { $0.badge.clear = false }),
            ("'notification.sound.volume' is 1.5; 0 to 1 is allowed", { $0.sound.volume = 1.5 }),
            ("'notification.sound.volume' is nan;", { $0.sound.volume = .nan }),
            ("'notification.relevance_score' is -1.0;", { $0.relevanceScore = -1 }),
            ("'notification.interruption_level' is none; allowed: passive, active,", { $0.interruptionLevel = "loud" }),
            ("'notification.live_activity.event' is none; allowed: start,", { $0.liveActivity.timestamp = 1 }),
            ("'notification.live_activity.timestamp' is 0;", { $0.liveActivity.event = "end" }),
            ("'notification.custom' has the key \"aps\"", { $0.custom = ["aps": 1] }),
            (
                "'notification.custom' has a number that is infinite",
                { $0.custom = ["a": .init(numberValue: .infinity)] }
            ),
            ("'notification.localizations' has a key that is no BCP 47 tag", { $0.localizations["ü"] = PushAlert() }),
            (
                "'notification.localizations' has \"pt-br\" twice",
                {
                    $0.localizations["pt-BR"] = PushAlert()
                    $0.localizations["pt-br"] = PushAlert()
                }
            ),
            (
                "'notification.localizations' has 257 languages; 256 are allowed",
                { for number in 0..<257 { $0.localizations["x\(number)"] = PushAlert() } }
            ),
            (
                "'notification.localizations' has \"default\" beside 'alert' or twice",
                {
                    $0.alert.body = "b"
                    $0.localizations["default"] = PushAlert()
                }
            ),
            (
                "'notification.alert' is not set beside 'localizations', so devices of all other languages",
                { $0.localizations["de"] = PushAlert.with { $0.body = "b" } }
            ),
            (
                "'notification.alert.without_action' is set beside 'action_loc_key'",
                {
                    $0.alert.withoutAction = true
                    $0.alert.actionLocKey = "k"
                }
            ),
        ]
        for (words, fill) in cases { #expect(fault(fill)?.hasPrefix(words) == true, "\(fault(fill) ?? "none")") }
    }

    @Test("Custom values may be nested as deep as a payload, and no deeper")
    func depth() {
        func nested(_ levels: Int) -> PushNotification {
            PushNotification.with { notification in
                notification.custom = (1..<levels).reduce(["k": 1]) { inner, _ in ["k": .init(structValue: inner)] }
            }
        }
        #expect(throws: Never.self) { try NotificationTemplate(nested(64)) }
        #expect(throws: NotificationFault.self) { try NotificationTemplate(nested(65)) }
    }
}
