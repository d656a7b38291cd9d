import Testing

@testable import Sandbox

/// `GET /field`: what a byte says, and that nothing that is asked for makes it large.
struct FieldImageTests {
    /// Draws a field of which some devices are not online.
    private func draw(
        _ viewport: FieldImage.Viewport,
        devices: Int,
        _ states: [Int: DevicePopulation.Reachability] = [:]
    ) -> [UInt8] {
        var population = DevicePopulation(count: devices)
        for (device, state) in states { population.set(device, state) }
        return FieldImage.draw(viewport, of: FieldLayout(devices: devices)) { population.withPackedStates($0, $1) }
    }

    @Test(
        "A field is about 16 to 10, holds every device once, and ends with a short row",
        arguments: [1, 2, 10, 1000, 9_999_991]
    )
    func layout(devices: Int) {
        let layout = FieldLayout(devices: devices)
        #expect(layout.columns * layout.rows >= devices)
        #expect(layout.columns * (layout.rows - 1) < devices)
        var next = 0
        for row in 0..<layout.rows {
            let range = layout.devices(row: row, columns: 0..<layout.columns)
            #expect(range.lowerBound == next)
            next = range.upperBound
        }
        #expect(next == devices)
        #expect(layout.devices(row: layout.rows, columns: 0..<1).isEmpty)
        #expect(layout.devices(row: 0, columns: layout.columns..<layout.columns + 5).isEmpty)
        if devices > 100 {
            #expect((1.4...1.8).contains(Double(layout.columns) / Double(layout.rows)))
        }
    }

    @Test("Squares of one device are exact, and those without a device say so")
    func exact() {
        // Ten devices stand in four columns: rows of 4, 4 and 2.
        let viewport = FieldImage.Viewport(x: 0, y: 0, width: 5, height: 4, cell: 1)
        let image = draw(viewport, devices: 10, [1: .offline, 6: .uninstalled])
        let none = FieldImage.absent
        #expect(FieldLayout(devices: 10).columns == 4)
        let expected: [UInt8] = [
            0, 5, 0, 0, none,
            0, 0, 30, 0, none,
            0, 0, none, none, none,
            none, none, none, none, none,
        ]
        #expect(image == expected)
    }

    @Test("A part of the field is the same as the whole there")
    func part() {
        let states: [Int: DevicePopulation.Reachability] = [17: .offline, 44: .uninstalled, 45: .offline, 99: .offline]
        let columns = FieldLayout(devices: 100).columns
        let whole = draw(.init(x: 0, y: 0, width: columns, height: 8, cell: 1), devices: 100, states)
        let part = draw(.init(x: 3, y: 2, width: 4, height: 5, cell: 1), devices: 100, states)
        var expected: [UInt8] = []
        for row in 2..<7 { expected += whole[row * columns + 3..<row * columns + 7] }
        #expect(part == expected)
    }

    @Test("A coarse square tells shares in fifths, and one device among thousands is not lost")
    func coarse() {
        let columns = FieldLayout(devices: 100_000).columns
        #expect(columns == 400)
        func square(_ states: [Int: DevicePopulation.Reachability]) -> UInt8 {
            draw(.init(x: 0, y: 0, width: 1, height: 1, cell: 100), devices: 100_000, states)[0]
        }
        #expect(square([:]) == 0)
        #expect(square([99 * columns + 99: .uninstalled]) == 6)
        #expect(square([100: .offline, 100 * columns: .offline]) == 0)
        var half: [Int: DevicePopulation.Reachability] = [:]
        for row in 0..<40 { for column in 0..<100 { half[row * columns + column] = .offline } }
        for row in 40..<100 { for column in 0..<100 { half[row * columns + column] = .uninstalled } }
        // 2 + 6 × 3
        #expect(square(half) == 20)
    }

    @Test("The bytes of all three states fit beside each other")
    func encoding() {
        // Bits as the population packs them, the generation above included.
        let bytes: [UInt8] = [0b1010_0101, 0b0000_0110, 0b1111_1111, 0b0000_0011]
        func draw(_ viewport: FieldImage.Viewport) -> [UInt8] {
            FieldImage.draw(viewport, of: FieldLayout(devices: 4)) { range, body in
                bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
            }
        }
        let image = draw(.init(x: 0, y: 0, width: 1, height: 1, cell: 2))
        let exact = draw(.init(x: 0, y: 0, width: 3, height: 2, cell: 1))
        #expect(exact == [5, 30, 180, 180, 255, 255])
        // Devices 0, 1 and 3 stand in the square: a third each: 2 + 6 × 2 + 36 × 2.
        #expect(image == [86])
    }

    @Test("No more devices are read at a time than stand in a row")
    func slices() {
        let layout = FieldLayout(devices: 1_000_000)
        let population = DevicePopulation(count: 1_000_000)
        var longest = 0
        var total = 0
        let viewport = FieldImage.Viewport(x: 0, y: 0, width: 320, height: 200, cell: 4)
        _ = FieldImage.draw(viewport, of: layout) { range, body in
            longest = max(longest, range.count)
            total += range.count
            population.withPackedStates(range, body)
        }
        #expect(longest <= layout.columns)
        #expect(total == 1_000_000)
    }

    @Test(
        "A wrong /field request names the field",
        arguments: [
            ("", "topic", "is missing"),
            ("topic=com.example.a", "width", "is missing"),
            ("topic=com.example.a&width=0&height=1", "width", "is \"0\", an integer of 1 to 2097152 is expected"),
            ("topic=com.example.a&width=1e3&height=1", "width", "is \"1e3\", an integer of 1 to 2097152 is expected"),
            ("topic=com.example.a&width=2000&height=2000", "height", "with \"width\" makes more than 2097152 squares"),
            ("topic=com.example.a&width=1&height=1&cell=129", "cell", "is \"129\", an integer of 1 to 128 is expected"),
            ("topic=com.example.a&width=1&height=1&x=-1", "x", "is \"-1\", an integer of 0 to 16777215 is expected"),
            (
                "topic=com.example.a&width=1&height=1&y=99999999999999999999", "y",
                "is \"99999999999999999999\", an integer of 0 to 16777215 is expected"
            ),
            ("topic=com.example.a&width=1&height=1&z=1", "z", "is not a field of this request"),
            ("topic=com.example.a&topic=b&width=1&height=1", "topic", "is there twice"),
            ("topic=com%2Eexample%2Ez&width=1&height=1", "topic", "is \"com.example.z\", served are com.example.a"),
        ]
    )
    func wrongRequest(query: String, field: String, message: String) {
        let response = Self.page.respond(method: "GET", path: "/field", query: query)
        let escaped = message.replacing("\"", with: "\\\"")
        let body = String(decoding: response?.body ?? [], as: UTF8.self)
        #expect(response?.status == 400)
        #expect(body == #"{"error":"\#(escaped)","field":"\#(field)"}"#)
    }

    @Test(
        "The topic's name is decoded; a name that is encoded wrongly stands for itself",
        arguments: [
            ("com.example.news", "com.example.news"), ("com%2Eexample%2enews", "com.example.news"),
            ("a+b%2Bc%26", "a b+c&"), ("%C3%A9", "é"), ("100%", "100%"), ("%zz", "%zz"), ("%FF", "%FF"), ("", ""),
        ]
    )
    func topicName(written: String, name: String) throws {
        #expect(try FieldRequest(query: "topic=\(written)&width=4&height=2").topic == name)
    }

    @Test("A right /field request is answered with a byte for each square")
    func rightRequest() {
        let query = "topic=com%2eexample.a&x=2&y=0&width=3&height=2"
        let response = Self.page.respond(method: "GET", path: "/field", query: query)
        #expect(response?.status == 200)
        #expect(response?.contentType == "application/octet-stream")
        #expect(response?.body == [0, 0, 255, 0, 0, 255])
        #expect(Self.page.respond(method: "POST", path: "/field", query: query)?.status == 405)
        #expect(Self.page.respond(method: "GET", path: "/stats", query: "") == nil)
    }

    private static let page: PageAPI = {
        let configuration = SandboxConfiguration(pkiDirectory: "", topics: ["com.example.a"], devices: 10)
        return PageAPI(
            service: PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { TopicFixture.now })
        )
    }()
}
