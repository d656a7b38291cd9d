import APNsProtocol
import Testing

@Suite("The texts of an alert are found with their places")
struct AlertTextTests {
    private func texts(_ payload: String) -> [String] {
        var found: [String] = []
        Array(payload.utf8).withUnsafeBytes { bytes in
            AlertText.forEach(in: bytes) { found.append("\($0.path): \($0.text)") }
        }
        return found
    }

    @Test(
        "Every text that the device shows is found, and no other",
        arguments: [
            (#"{"aps":{"alert":"Hi"}}"#, ["aps.alert: Hi"]),
            (
                #"{"x":{"alert":"no"},"aps":{"sound":"no","alert":{"title":"a","body":"b","subtitle":"c"},"badge":1}}"#,
                ["aps.alert.title: a", "aps.alert.body: b", "aps.alert.subtitle: c"]
            ),
            (
                #"{"aps":{"alert":{"loc-key":"no","loc-args":["a",1,["no"],"b"],"title-loc-args":["c"]}}}"#,
                ["aps.alert.loc-args[0]: a", "aps.alert.loc-args[3]: b", "aps.alert.title-loc-args[0]: c"]
            ),
            (
                #"{"aps":{"alert":{"subtitle-loc-args":["a"],"summary-arg":"b","launch-image":"no"}}}"#,
                ["aps.alert.subtitle-loc-args[0]: a", "aps.alert.summary-arg: b"]
            ),
            (
                #"{"aps":{"alert":{"title":{"loc-key":"no","loc-args":["a"]},"body":{"loc-args":["b","c"]}}}}"#,
                ["aps.alert.title.loc-args[0]: a", "aps.alert.body.loc-args[0]: b", "aps.alert.body.loc-args[1]: c"]
            ),
            (#"{ "aps" : { "alert" : [ "no" ] , "alert" : { "body" : "b" } } }"#, ["aps.alert.body: b"]),
            (#"{"aps":{"alert":{"loc-args":{},"title":7,"body":null}}}"#, []),
            (#"{"aps":"no"}"#, []),
            (#"{"aps":{}}"#, []),
        ]
    )
    func found(payload: String, expected: [String]) {
        #expect(texts(payload) == expected)
    }

    @Test("Escapes are resolved, in texts and in keys")
    func escapes() {
        #expect(texts(#"{"\u0061ps":{"al\u0065rt":"\u0034\u00e9\n"}}"#) == ["aps.alert: 4é\n"])
    }

    @Test("Bytes that are no payload are read up to their first fault")
    func faults() {
        #expect(texts("") == [])
        #expect(texts(#"{"aps":{"alert":{"title":"a","body":"b"#) == ["aps.alert.title: a"])
        #expect(texts(String(repeating: "[", count: 10_000)) == [])
        #expect(texts(#"{"aps":{"alert":{"loc-args":["# + String(repeating: "[", count: 10_000)) == [])
    }
}
