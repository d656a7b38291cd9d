import Testing

@testable import BelfrySupport

@Suite("Configuration from the environment")
struct ConfigurationVariableTests {
    private let yaml = """
        kafka: {brokers: "file:1", properties: {sasl.username: file}}
        environments: {sandbox: {gateways: "file:1"}}
        worker: {shards: 3}
        apps: {com.example.my-news: {spread: 2}}
        """

    @Test("A variable overrides the file; what it does not name stays")
    func overrides() throws {
        let configuration = try load([
            "BELFRY_KAFKA_BROKERS": "a:1,b:2",
            "BELFRY_WORKER_SHARDS": "5",
            "BELFRY_WORKER_MAX_UNCOMMITTED": "77",
            "BELFRY_OUTCOMES": "all",
            "BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS": "c:3, d",
            "BELFRY_APPS_COM_EXAMPLE_MY_NEWS_SPREAD": "8",
            "BELFRY_LOG_LEVEL": "error",
        ])
        #expect(configuration.kafka.brokers == "a:1,b:2")
        #expect(configuration.worker.shards == 5)
        #expect(configuration.worker.maxUncommitted == 77)
        #expect(configuration.outcomes == .all)
        #expect(configuration.environments[0].gateways.map(\.description) == ["c:3", "d:2195"])
        #expect(configuration.apps["com.example.my-news"]?.spread == 8)
        #expect(configuration.logLevel == .error)
        #expect(configuration.unusedVariables.isEmpty)
        #expect(try load([:]).worker.shards == 3)
    }

    @Test("Without a file the environment alone is enough")
    func withoutFile() throws {
        let configuration = try BelfryConfiguration.load(
            yaml: nil,
            file: nil,
            directory: nil,
            variables: [
                "BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS": "localhost:2195",
                "BELFRY_ENVIRONMENTS_SANDBOX_PAYLOAD_LIMIT": "2048",
                "BELFRY_ENVIRONMENTS_PRODUCTION_GATEWAYS": "localhost:1",
                "BELFRY_KAFKA_PROPERTIES_SECURITY_PROTOCOL": "SASL_SSL",
            ]
        )
        #expect(configuration.environments.map(\.name) == ["production", "sandbox"])
        #expect(configuration.environments[1].payloadLimitBytes == 2048)
        #expect(configuration.kafka.properties == [.init(name: "security.protocol", value: "SASL_SSL")])
    }

    @Test("A variable with _FILE names the file that holds the value; its last line end is not part of it")
    func secretFiles() throws {
        let configuration = try load(
            [
                "BELFRY_KAFKA_PROPERTIES_SASL_PASSWORD_FILE": "/run/secrets/kafka",
                "BELFRY_REDIS_URL_FILE": "/run/secrets/redis",
            ],
            files: ["/run/secrets/kafka": " pass word \n", "/run/secrets/redis": "redis://u:p@h:1/2\r\n"]
        )
        #expect(configuration.kafka.properties.first { $0.name == "sasl.password" }?.value == " pass word ")
        #expect(configuration.redis.endpoint.password == "p")
        #expect(configuration.redis.endpoint.database == 2)
        #expect(configuration.unusedVariables.isEmpty)
    }

    @Test("A file that cannot be read, and a value given twice, are problems")
    func secretProblems() {
        #expect(
            problems(["BELFRY_REDIS_URL_FILE": "/nowhere"]) == [
                "BELFRY_REDIS_URL_FILE: redis.url: found \"/nowhere\", which cannot be read; "
                    + "allowed: a readable file that holds the value"
            ]
        )
        #expect(
            problems(["BELFRY_REDIS_URL_FILE": "/nowhere", "BELFRY_REDIS_URL": "redis://a"]) == [
                "BELFRY_REDIS_URL_FILE: redis.url: found both BELFRY_REDIS_URL and BELFRY_REDIS_URL_FILE; "
                    + "allowed: one of them"
            ]
        )
    }

    @Test("A problem is told once, however often the value is asked for")
    func once() {
        #expect(
            problems(["BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS_FILE": "/nowhere"]).count { $0.contains("/nowhere") } == 1
        )
    }

    @Test("A wrong value names the variable it came from")
    func wrongValue() {
        #expect(
            problems(["BELFRY_WORKER_SHARDS": "0"]) == [
                "BELFRY_WORKER_SHARDS: worker.shards: found \"0\"; allowed: a whole number, 1...256"
            ]
        )
        #expect(
            problems(["BELFRY_KAFKA_PROPERTIES_GROUP_ID": "x"]).first?.hasPrefix(
                "BELFRY_KAFKA_PROPERTIES_GROUP_ID: kafka.properties.group.id: found a property that belfry sets itself"
            ) == true
        )
    }

    @Test("A variable of ours that names no key is told, an empty one counts as not set, others are not ours")
    func otherVariables() throws {
        let configuration = try load([
            "BELFRY_WORKER_SHARD": "9", "BELFRY_APPS_COM_EXAMPLE_OTHER_SPREAD": "3", "BELFRY_WORKER_SHARDS": "",
            "PATH": "/bin", "OTHER_WORKER_SHARDS": "4",
        ])
        #expect(configuration.worker.shards == 3)
        #expect(configuration.unusedVariables == ["BELFRY_APPS_COM_EXAMPLE_OTHER_SPREAD", "BELFRY_WORKER_SHARD"])
    }

    private func load(
        _ variables: [String: String],
        files: [String: String] = [:]
    ) throws(ConfigurationError)
        -> BelfryConfiguration
    {
        try BelfryConfiguration.load(
            yaml: yaml,
            file: "belfry.yaml",
            directory: nil,
            variables: variables,
            readFile: { files[$0] }
        )
    }

    private func problems(_ variables: [String: String]) -> [String] {
        do throws(ConfigurationError) {
            _ = try load(variables)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }
}
