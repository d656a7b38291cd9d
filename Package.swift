// swift-tools-version:6.2
import PackageDescription

// A target may use only what it names here (`make build` makes another import an error); settings stand at the end.

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nio = [nioCore, nioPosix]
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

// Every role stands on these, and with it the tests of roles.
let role: [Target.Dependency] = [
    "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "ProviderCredentials", "PushSchemas", "PushTopics",
    "RedisClient", "RequestLanes", "SocketErrors", "TLSTransport", logging, nioCore, nioPosix,
]

let roleTests =
    role + ["PipelineTestSupport", "SimulatedServers", "TestSupport", "TokenState", lifecycle, nioEmbedded, protobuf]
let benchmark: [Target.Dependency] =
    ["KafkaClient", "LocalPipeline", "PushSchemas", "PushTopics", "TLSTransport", "Workbench", argumentParser] + nio

let package = Package(
    name: "belfry",
    platforms: [.macOS(.v26)],
    products: [
        .executable(name: "belfry", targets: ["belfry"]),
        .library(name: "BelfryProducer", targets: ["BelfryProducer", "PushSchemas", "RequestLanes", "RequestRules"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-protobuf.git", exact: "1.39.0"),
        // Without traits: its configuration has its own file format; ours is read by BelfrySupport.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams.git", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", exact: "2.13.0"),
    ],
    targets: [
        // The system's C libraries: module maps and commented shims.
        .systemLibrary(name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        // No pkgConfig: hiredis' names a compiler flag that the package manager prohibits, with a warning.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        // No libraries: the allocator's settings, and what processors do with many bytes at once and Swift cannot say.
        .systemLibrary(name: "CAllocator"),
        .systemLibrary(name: "CVector"),

        // Ground floor: no I/O, no Foundation.
        .target(name: "APNsProtocol"),
        .target(name: "RequestLanes"),
        .target(name: "PipelineCore", dependencies: ["APNsProtocol", "RequestLanes"]),
        .target(name: "PushSchemas", dependencies: [protobuf]),
        // Structured notifications made into payloads.
        .target(name: "PayloadRendering", dependencies: ["APNsProtocol", "PushSchemas", protobuf]),
        // The rules for requests: the worker's, the command's and the library's.
        .target(name: "RequestRules", dependencies: ["APNsProtocol", "PayloadRendering", "PushSchemas"]),

        // One generator for all that must happen again with the same seed.
        .target(name: "SeededNumbers"),
        // Child processes and free ports: what demo, tests and tools share; it hands seeded numbers on.
        .target(name: "Workbench", dependencies: ["SeededNumbers"]),
        .target(name: "SocketErrors", dependencies: nio),

        // Owning wrappers.
        .target(name: "KafkaClient", dependencies: ["CRdKafka"] + nio),
        .target(name: "RedisClient", dependencies: ["CHiredis", "COpenSSL", "SocketErrors"] + nio),
        .target(name: "TLSTransport", dependencies: ["COpenSSL", "SocketErrors"] + nio),
        .target(name: "HTTP2Transport", dependencies: ["CNghttp2", nioCore]),

        // Publishing for other packages, too: nothing it needs has unsafe flags.
        .target(
            name: "BelfryProducer",
            dependencies: ["APNsProtocol", "KafkaClient", "PushSchemas", "RequestLanes", "RequestRules", protobuf] + nio
        ),

        // Ports over HTTP, those with a page and the roles' for operators: how they are served, and their bounds.
        .target(name: "HTTPPorts", dependencies: [hummingbirdCore, logging, nioHTTP1] + nio),
        // The shared ground of the sandbox' page and the console's: serving, live updates, looks.
        .target(
            name: "PageParts",
            dependencies: ["HTTPPorts", hummingbird, hummingbirdCore, nioCore],
            resources: [.embedInCode("Files")]
        ),

        // The push service and the pipeline.
        .target(
            name: "Sandbox",
            dependencies: [
                "APNsProtocol", "CVector", "HTTP2Transport", "HTTPPorts", "PageParts", "SeededNumbers", "SocketErrors",
                "TLSTransport", logging,
            ] + nio,
            exclude: ["BINARY.md", "README.md"],
            // In the program itself, so that it stays one file.
            resources: [.embedInCode("Page/Files")]
        ),
        // Configuration, logs, metrics, operations endpoint, start and stop, for every role.
        .target(
            name: "BelfrySupport",
            dependencies: [
                "APNsProtocol", "CAllocator", "HTTPPorts", "PipelineCore", "PushSchemas", "RedisClient", "RequestLanes",
                "SocketErrors", "TLSTransport", hummingbird, hummingbirdCore, logging, lifecycle, nioHTTP1, yams,
            ] + nio
        ),
        // Certificates and provider keys: a topic's right to send.
        .target(
            name: "ProviderCredentials",
            dependencies: ["APNsProtocol", "BelfrySupport", "PipelineCore", "TLSTransport", logging, nioPosix]
        ),
        // Kafka topics, dead letters, readiness and the ports to clients.
        .target(
            name: "PushTopics",
            dependencies: [
                "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "RedisClient", "RequestLanes", logging,
                lifecycle,
            ] + nio
        ),
        // The state of tokens in Redis and in memory.
        .target(name: "TokenState", dependencies: role + [lifecycle], exclude: ["README.md"]),
        // The worker.
        .target(
            name: "Sender",
            dependencies: role + ["HTTP2Transport", "PayloadRendering", "RequestRules", "TokenState", lifecycle],
            exclude: ["README.md"]
        ),
        // Registrar and harvester.
        .target(name: "TokenRoles", dependencies: role + ["TokenState"]),
        // The work of the commands that are no role.
        .target(
            name: "BelfryTools",
            dependencies: [
                "APNsProtocol", "BelfryProducer", "BelfrySupport", "HTTP2Transport", "KafkaClient", "PipelineCore",
                "ProviderCredentials", "PushSchemas", "PushTopics", "RequestLanes", "RequestRules", "SocketErrors",
                "TLSTransport", "TokenState", logging, lifecycle, protobuf,
            ] + nio
        ),
        // The page of the fleet: it knows of roles what they answer to whoever operates them.
        .target(
            name: "Console",
            dependencies: [
                "BelfrySupport", "HTTPPorts", "PageParts", "PipelineCore", "PushSchemas", "SocketErrors",
                "TLSTransport",
            ] + nio,
            resources: [.embedInCode("Page/Files")]
        ),
        // A whole pipeline as processes of one machine, for demo, chaos and integration tests.
        .target(
            name: "LocalPipeline",
            dependencies: [
                "BelfrySupport", "KafkaClient", "PushSchemas", "PushTopics", "RequestLanes", "TokenState", "Workbench",
                nioPosix, protobuf,
            ]
        ),
        .target(name: "Demo", dependencies: ["LocalPipeline", "PushSchemas", "TokenState"]),
        .executableTarget(
            name: "belfry",
            dependencies: [
                "BelfrySupport", "BelfryTools", "Console", "Demo", "LocalPipeline", "ProviderCredentials",
                "PushSchemas", "PushTopics", "RequestLanes", "Sandbox", "Sender", "TokenRoles", "TokenState",
                argumentParser, logging,
            ]
        ),

        // The benchmarks: one driver in Swift, and what it shares with the programs in C below, which it starts.
        .target(name: "BenchmarkCommon", path: "Tests/Benchmarks/Common"),
        .executableTarget(
            name: "belfry-bench",
            dependencies: benchmark + [
                "APNsProtocol", "BenchmarkCommon", "HTTP2Transport", "PipelineCore", "RedisClient", "Sandbox",
                "TokenState", "belfry-bench-broker", "belfry-bench-calls", "belfry-bench-fire", "belfry-bench-floor",
                "belfry-bench-load", "belfry-bench-lookups", "belfry-bench-sink", protobuf,
            ],
            path: "Tests/Benchmarks/Driver"
        ),
        // Chaos on real processes.
        .executableTarget(
            name: "belfry-chaos",
            dependencies: benchmark + ["PipelineCore", "TestSupport", "TokenState", protobuf],
            path: "Tests/Chaos",
            exclude: ["README.md"]
        ),
        // The sender, and the appliers of registrations and feedback, in simulated worlds.
        .executableTarget(
            name: "belfry-simulate",
            dependencies: role + [
                "HTTP2Transport", "Sender", "SimulatedServers", "TokenRoles", "TokenState", "Workbench", argumentParser,
                protobuf,
            ],
            path: "Tests/Simulation",
            exclude: ["README.md"]
        ),
        // Fuzz targets: a program of its own with `make fuzz`, else a replay of their corpus.
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/LibFuzzer"),
        .executableTarget(
            name: "belfry-fuzz",
            dependencies: [
                "APNsProtocol", "CLibFuzzer", "HTTP2Transport", "PushSchemas", "RequestRules", "Sandbox",
                "SeededNumbers", "TLSTransport", nioCore,
            ],
            path: "Tests/Fuzz/Targets"
        ),

        // Shared by several test targets; it hands the workbench on.
        .target(name: "TestSupport", dependencies: ["Workbench"], path: "Tests/TestSupport"),
        .target(name: "KafkaTestSupport", dependencies: ["KafkaClient", "Workbench"], path: "Tests/KafkaTestSupport"),
        // Redis and Kafka in memory, for tests and the simulation; their contracts are proven on real servers, too.
        .target(name: "SimulatedServers", dependencies: role + ["TokenState"], path: "Tests/SimulatedServers"),
        // Token state, brokers and services for the tests of several pipeline targets.
        .target(
            name: "PipelineTestSupport",
            dependencies: role + ["COpenSSL", "SimulatedServers", "TestSupport", "TokenState"],
            path: "Tests/PipelineTestSupport"
        ),

        // Rules and wrappers, each beside its target.
        .testTarget(name: "APNsProtocolTests", dependencies: ["APNsProtocol", "TestSupport"]),
        .testTarget(
            name: "PipelineCoreTests",
            dependencies: ["APNsProtocol", "PipelineCore", "RequestLanes", "TestSupport"]
        ),
        .testTarget(name: "PushSchemasTests", dependencies: ["PushSchemas", "TestSupport", protobuf]),
        .testTarget(
            name: "PayloadRenderingTests",
            dependencies: ["APNsProtocol", "PayloadRendering", "PushSchemas", "TestSupport", protobuf]
        ),
        .testTarget(
            name: "RequestRulesTests",
            dependencies: ["APNsProtocol", "PayloadRendering", "PushSchemas", "RequestRules", "TestSupport"]
        ),
        .testTarget(name: "SocketErrorsTests", dependencies: ["SocketErrors"] + nio),
        .testTarget(name: "WorkbenchTests", dependencies: ["Workbench"]),
        .testTarget(
            name: "KafkaClientTests",
            dependencies: ["KafkaClient", "CRdKafka", "KafkaTestSupport", "TestSupport"] + nio
        ),
        .testTarget(name: "RedisClientTests", dependencies: ["RedisClient", "CHiredis", "TestSupport"] + nio),
        .testTarget(
            name: "TLSTransportTests",
            dependencies: ["APNsProtocol", "TLSTransport", "COpenSSL", "TestSupport", nioEmbedded] + nio
        ),
        .testTarget(
            name: "HTTP2TransportTests",
            dependencies: ["HTTP2Transport", "TLSTransport", "TestSupport"] + nio
        ),
        .testTarget(name: "HTTPPortsTests", dependencies: ["HTTPPorts", nioCore, nioEmbedded, nioHTTP1]),
        .testTarget(
            name: "PagePartsTests",
            dependencies: ["HTTPPorts", "PageParts", hummingbirdCore, logging, nioEmbedded] + nio
        ),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "APNsProtocol", "HTTP2Transport", "PageParts", "Sandbox", "TLSTransport", "TestSupport", logging,
                nioEmbedded,
            ] + nio
        ),
        .testTarget(
            name: "BelfryProducerTests",
            dependencies: [
                "APNsProtocol", "BelfryProducer", "KafkaClient", "PushSchemas", "RequestRules", "TestSupport", protobuf,
            ]
        ),
        .testTarget(name: "FuzzTests", dependencies: ["belfry-fuzz"]),
        // The pipeline, each target beside its tests; BelfryTools tells two of them the exit code of an error.
        .testTarget(
            name: "BelfrySupportTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "BelfryTools", "CAllocator", "HTTPPorts", "PipelineCore",
                "PipelineTestSupport", "PushTopics", "RedisClient", "TLSTransport", "TestSupport", lifecycle, logging,
                nioEmbedded,
            ] + nio
        ),
        .testTarget(
            name: "ProviderCredentialsTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "BelfryTools", "PipelineCore", "PipelineTestSupport",
                "ProviderCredentials", "Sender", "TLSTransport", "TestSupport", logging, nioCore, nioEmbedded,
            ]
        ),
        .testTarget(
            name: "PushTopicsTests",
            dependencies: roleTests + ["CRdKafka", "KafkaTestSupport", "SeededNumbers"]
        ),
        .testTarget(name: "TokenStateTests", dependencies: roleTests + ["BelfryTools"]),
        .testTarget(
            name: "SenderTests",
            dependencies: roleTests + ["HTTP2Transport", "RequestRules", "SeededNumbers", "Sender"]
        ),
        .testTarget(name: "TokenRolesTests", dependencies: roleTests + ["TokenRoles"]),
        .testTarget(
            name: "BelfryToolsTests",
            dependencies: [
                "APNsProtocol", "BelfryProducer", "BelfrySupport", "BelfryTools", "KafkaClient", "PipelineCore",
                "PipelineTestSupport", "PushSchemas", "PushTopics", "RequestLanes", "Sender", "TestSupport",
                "TokenRoles", "TokenState", logging, protobuf, yams,
            ]
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: ["BelfrySupport", "Console", "PageParts", "PipelineCore"] + nio
        ),
        .testTarget(
            name: "BenchmarkDriverTests",
            dependencies: [
                "APNsProtocol", "BenchmarkCommon", "PushSchemas", "TokenState", "Workbench", "belfry-bench", protobuf,
            ]
        ),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "KafkaClient", "LocalPipeline", "PipelineCore", "PushSchemas", "Sandbox", "TestSupport", "belfry-chaos",
                protobuf,
            ]
        ),
        .testTarget(
            name: "SimulatedServersTests",
            dependencies: [
                "BelfrySupport", "KafkaClient", "PipelineTestSupport", "PushTopics", "RedisClient",
                "SimulatedServers", "TestSupport",
            ] + nio
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["KafkaClient", "PipelineCore", "PushSchemas", "SimulatedServers", "belfry-simulate"]
        ),
        .testTarget(name: "LocalPipelineTests", dependencies: ["KafkaClient", "LocalPipeline", "PushSchemas"]),
        .testTarget(name: "DemoTests", dependencies: ["Demo", "LocalPipeline", "PushSchemas"]),
        // The program as a whole: processes, real servers, kills.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "BelfryTools", "KafkaClient", "KafkaTestSupport",
                "LocalPipeline", "PipelineCore", "PushSchemas", "Sandbox", "TLSTransport", "TestSupport", "TokenState",
                "Workbench", "belfry", argumentParser, logging, nioEmbedded, protobuf,
            ] + nio
        ),
    ]
)

// Programs of the benchmarks in C, so that nothing of ours is in what we compare with.
let programsInC = [
    "Broker": [], "Calls": ["hiredis"], "Lookups": ["hiredis"],
    "Floor": ["rdkafka", "hiredis", "ssl", "crypto"], "Load": ["rdkafka", "hiredis"],
    "Sink": ["ssl", "crypto", "pthread"], "Fire": ["ssl", "crypto"],
]
for (folder, libraries) in programsInC.sorted(by: { $0.key < $1.key }) {
    package.targets.append(
        .executableTarget(
            name: "belfry-bench-\(folder.lowercased())",
            dependencies: ["BenchmarkCommon"],
            path: "Tests/Benchmarks/\(folder)",
            linkerSettings: libraries.map { .linkedLibrary($0) }
        )
    )
}

// `make check TARGET=name` cuts the package down to that target, its dependencies and its tests.
if let checked = Context.environment["BELFRY_CHECK"] {
    var wanted: Set = [checked, "\(checked)Tests"]
    var unvisited = Array(wanted)
    while let name = unvisited.popLast() {
        for case .byNameItem(let dependency, _) in package.targets.first(where: { $0.name == name })?.dependencies ?? []
        where wanted.insert(dependency).inserted {
            unvisited.append(dependency)
        }
    }
    package.targets.removeAll { !wanted.contains($0.name) }
    package.products = []
}

// Warnings are errors in every target of ours.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]
// Targets in which run-time exclusivity checks cost much do without them: with checks in all targets a worker takes
// 1.26 times the CPU (`make bench`, --beside), and the simulation 1.19 times the instructions; those of each other
// target take less than 0.5 %, of RedisClient 2 % where it is asked for each token. Violations that the compiler cannot
// see are ruled out by ownership: all belongs to one event loop, and nothing calls back from inside a change.
let unchecked: [SwiftSetting] = [.unsafeFlags(["-enforce-exclusivity=unchecked"])]
let hot: Set = ["Sender", "belfry-simulate"]
// Tests are optimized only if they compute, which halves the time to compile the others. Targets under test all are.
let plain: [SwiftSetting] = [.unsafeFlags(["-Onone"])]
let computing: Set = ["APNsProtocolTests", "PayloadRenderingTests", "PipelineCoreTests", "PushSchemasTests"]
let inC = Set(["BenchmarkCommon"] + programsInC.keys.map { "belfry-bench-\($0.lowercased())" })
for target in package.targets where target.type != .system {
    if inC.contains(target.name) {
        target.cSettings = strictC
    } else {
        let isPlain = target.type == .test && !computing.contains(target.name)
        target.swiftSettings = strict + (hot.contains(target.name) ? unchecked : isPlain ? plain : [])
    }
}
