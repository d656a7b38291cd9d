import APNsProtocol
import Testing

@Suite struct ProviderRequestCheckTests {
    static let token = [UInt8](0..<32)
    static let certificate = ProviderCredential.certificate(
        subject: "com.example.news",
        topics: ["com.example.news", "com.example.news.voip", "com.example.news.complication"]
    )
    static let key = ProviderCredential.providerToken(bundles: ["com.example.news", "com.example.mail"])

    /// A request in order, as a table of fields; a test changes one of them.
    static let good: [ProviderHeader: String] = [
        .method: "POST", .path: ProviderPath.text(token: token), .id: "123e4567-e89b-42d3-a456-426614174000",
        .topic: "com.example.news", .pushType: "alert", .priority: "10", .expiration: "0", .collapseID: "game",
    ]

    /// - Parameter refused: the credential's refusal, if there is one.
    static func check(
        _ fields: [ProviderHeader: String],
        payloadBytes: Int = 100,
        twice: ProviderHeader? = nil,
        credential: ProviderCredential = Self.key,
        refused: ProviderReason? = nil
    ) -> Result<ProviderRequest, ProviderReason> {
        var memo = ProviderDestinationMemo()
        return check(fields, payloadBytes: payloadBytes, twice: twice, memo: &memo, credential, refused: refused)
    }

    private static func check(
        _ fields: [ProviderHeader: String],
        payloadBytes: Int = 100,
        twice: ProviderHeader? = nil,
        memo: inout ProviderDestinationMemo,
        _ credential: ProviderCredential,
        refused: ProviderReason? = nil
    ) -> Result<ProviderRequest, ProviderReason> {
        var head = ProviderRequestHead()
        for (field, value) in fields { head.add(field, value) }
        if let twice { head.add(twice, "again") }
        return Result { () throws(ProviderReason) in
            try ProviderRequestCheck.check(
                head,
                payloadBytes: payloadBytes,
                memo: &memo,
                credential: { _ throws(ProviderReason) in
                    if let refused { throw refused }
                    return credential
                },
                openToken: { bytes throws(ProviderReason) in
                    guard bytes.elementsEqual(Self.token) else { throw .badDeviceToken }
                }
            )
        }
    }

    static func check(with changes: [ProviderHeader: String]) -> Result<ProviderRequest, ProviderReason> {
        check(good.merging(changes) { _, new in new })
    }

    @Test("A request in order is read with all its values")
    func accepted() throws {
        let request = try Self.check(Self.good).get()
        #expect(request.id?.text() == Self.good[.id])
        #expect(request.topic == "com.example.news" && request.bundle == "com.example.news")
        #expect(request.pushType == .alert && request.priority == .immediate)
        #expect(request.expiration == 0 && request.collapseID == Array("game".utf8))
    }

    @Test("Only method and path have to be there for a certificate; with a provider token also the topic")
    func optional() throws {
        let fields = Self.good.filter { $0.key == .method || $0.key == .path }
        let request = try Self.check(fields, credential: Self.certificate).get()
        #expect(request.topic == "com.example.news" && request.pushType == .alert)
        #expect(request.id == nil && request.expiration == nil && request.collapseID == nil)
        #expect(request.priority == .immediate)
        #expect(Self.check(fields) == .failure(.missingTopic))
    }

    @Test(
        "One wrong value has its reason",
        arguments: [
            (.method, "GET", .methodNotAllowed), (.method, "post", .methodNotAllowed), (.path, "/", .badPath),
            (.path, "/3/device/", .missingDeviceToken), (.path, "/3/device/00", .badDeviceToken),
            (.id, "1", .badMessageID), (.topic, "", .badTopic), (.topic, "a b", .badTopic),
            (.topic, String(repeating: "a", count: 256), .badTopic), (.topic, "com.example.other", .topicDisallowed),
            (.topic, "com.example.news.other", .topicDisallowed), (.topic, "com.example.news.voip", .invalidPushType),
            (.pushType, "Alert", .invalidPushType), (.pushType, "", .invalidPushType),
            (.pushType, "voip", .invalidPushType), (.pushType, "background", .badPriority),
            (.priority, "7", .badPriority), (.priority, "1", .badPriority), (.expiration, "soon", .badExpirationDate),
            (.collapseID, "", .badCollapseID), (.collapseID, String(repeating: "a", count: 65), .badCollapseID),
        ] as [(ProviderHeader, String, ProviderReason)]
    )
    func refused(field: ProviderHeader, value: String, reason: ProviderReason) {
        #expect(Self.check(with: [field: value]) == .failure(reason))
    }

    @Test("Of several faults the service names the first in its order")
    func order() {
        var fields: [ProviderHeader: String] = [
            .method: "GET", .path: "/", .id: "x", .pushType: "x", .priority: "x", .expiration: "x", .collapseID: "",
        ]
        var twice: ProviderHeader? = .id
        var refused: ProviderReason? = .expiredProviderToken
        var payloadBytes = 0
        let steps: [(ProviderReason, () -> Void)] = [
            (.methodNotAllowed, { fields[.method] = "POST" }), (.expiredProviderToken, { refused = nil }),
            (.badPath, { fields[.path] = "/3/device/" }), (.missingDeviceToken, { fields[.path] = "/3/device/0" }),
            (.badDeviceToken, { fields[.path] = Self.good[.path] }), (.duplicateHeaders, { twice = nil }),
            (.badMessageID, { fields[.id] = nil }), (.missingTopic, { fields[.topic] = "!" }),
            (.badTopic, { fields[.topic] = "com.example.other" }),
            (.topicDisallowed, { fields[.topic] = "com.example.news" }),
            (.invalidPushType, { fields[.pushType] = "alert" }), (.badPriority, { fields[.priority] = "5" }),
            (.badExpirationDate, { fields[.expiration] = "1" }), (.badCollapseID, { fields[.collapseID] = "a" }),
            (.payloadEmpty, { payloadBytes = 4097 }), (.payloadTooLarge, { payloadBytes = 4096 }),
        ]
        for (reason, mend) in steps {
            let result = Self.check(fields, payloadBytes: payloadBytes, twice: twice, refused: refused)
            #expect(result == .failure(reason))
            mend()
        }
        #expect(throws: Never.self) { try Self.check(fields, payloadBytes: payloadBytes).get() }
    }

    @Test("A push type goes with the topics of its suffix, and brings its limit", arguments: PushType.allCases)
    func pushTypes(type: PushType) throws {
        let topic = type.topic(bundle: "com.example.mail")
        var fields = Self.good.merging([.topic: topic, .pushType: type.rawValue, .priority: "5"]) { _, new in new }
        let request = try Self.check(fields, payloadBytes: type.payloadLimitBytes).get()
        #expect(request.pushType == type && request.topic == topic && request.bundle == "com.example.mail")
        #expect(Self.check(fields, payloadBytes: type.payloadLimitBytes + 1) == .failure(.payloadTooLarge))

        // Not named, it follows from the suffix, and has no rule for priorities.
        fields[.pushType] = nil
        fields[.priority] = "1"
        #expect(try Self.check(fields).get().pushType == (type.topicSuffix.isEmpty ? .alert : type))
    }

    @Test("The default priority is no fault of a push type that does not allow it")
    func defaultPriority() throws {
        var fields = Self.good.merging([.pushType: "background"]) { _, new in new }
        fields[.priority] = nil
        #expect(try Self.check(fields).get().priority == .powerSaving)
    }

    @Test("A certificate covers the topics that it names, but none of a push type that needs a provider token")
    func certificates() {
        func check(_ bundle: String, _ type: PushType, credential: ProviderCredential) -> ProviderReason? {
            let changes: [ProviderHeader: String] = [
                .topic: type.topic(bundle: bundle), .pushType: type.rawValue, .priority: "5",
            ]
            let fields = Self.good.merging(changes) { _, new in new }
            guard case .failure(let reason) = Self.check(fields, credential: credential) else { return nil }
            return reason
        }
        #expect(check("com.example.news", .voip, credential: Self.certificate) == nil)
        #expect(check("com.example.news", .controls, credential: Self.certificate) == .topicDisallowed)
        #expect(check("com.example.mail", .alert, credential: Self.certificate) == .topicDisallowed)
        #expect(check("com.example.news", .location, credential: Self.key) == nil)
        let topics = PushType.allCases.map { $0.topic(bundle: "a") }
        let generous = ProviderCredential.certificate(subject: "a", topics: topics)
        for type in PushType.allCases {
            #expect(check("a", type, credential: generous) == (type.needsProviderToken ? .topicDisallowed : nil))
        }
    }

    @Test("The certificate of VoIP Services sends pushes of that type, also where the request names no topic")
    func voipServices() throws {
        let credential = ProviderCredential.certificate(subject: "com.example.news.voip", topics: [])
        var fields = Self.good
        #expect(Self.check(fields, credential: credential) == .failure(.topicDisallowed))
        fields[.pushType] = "voip"
        for topic in ["com.example.news.voip", nil] {
            fields[.topic] = topic
            let request = try Self.check(fields, credential: credential).get()
            #expect(request.pushType == .voip && request.bundle == "com.example.news")
        }
    }

    @Test("A connection that remembers its last destination judges every request as one that remembers nothing")
    func memo() {
        var memo = ProviderDestinationMemo()
        let topics = [nil, "com.example.news", "com.example.news.voip", "com.example.mail", "a b"]
        let types = [nil, "alert", "voip", "controls"]
        for credential in [Self.key, Self.certificate, Self.key] {
            for (topic, type) in topics.flatMap({ topic in types.map { (topic, $0) } }) {
                var fields = Self.good
                fields[.topic] = topic
                fields[.pushType] = type
                for _ in 0..<2 {
                    let result = Self.check(fields, memo: &memo, credential)
                    #expect(result == Self.check(fields, credential: credential))
                }
            }
        }
    }
}
