// swift-tools-version:6.2
import PackageDescription

// Warnings are errors in every target of ours; a target may use only what it names here
// (`make build` passes --explicit-target-dependency-import-check error).
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

// The per-notification path pays for run-time exclusivity checks on every access to its machines; violations that the
// compiler cannot see are ruled out by their ownership: everything belongs to one event loop and nothing calls back
// from inside a change.
let hot: [SwiftSetting] = strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"])]

let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")

let package = Package(
    name: "belfry",
    platforms: [.macOS(.v26)],
    products: [
        .executable(name: "belfry", targets: ["belfry"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-protobuf.git", exact: "1.39.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird.git",
            exact: "2.28.1",
            // Its configuration has its own file format; ours is read by BelfrySupport.
            traits: []
        ),
        .package(url: "https://github.com/jpsim/Yams.git", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", exact: "2.13.0"),
    ],
    targets: [
        // The system's C libraries: module maps and commented shims.
        .systemLibrary(name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        // No pkgConfig: hiredis' names a compiler flag that the package manager prohibits, with a warning.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        // No library: what processors do with many bytes at once and Swift cannot say.
        .systemLibrary(name: "CVector"),

        // Ground floor: no I/O, no Foundation.
        .target(name: "APNsProtocol", swiftSettings: strict),
        .target(name: "PipelineCore", dependencies: ["APNsProtocol"], swiftSettings: hot),
        .target(
            name: "PushSchemas",
            dependencies: [protobuf],
            swiftSettings: strict
        ),

        // Child processes, free ports and seeded numbers: what demo, tests and tools share.
        .target(name: "Workbench", swiftSettings: strict),

        // Owning wrappers.
        .target(name: "KafkaClient", dependencies: ["CRdKafka"] + nio, swiftSettings: strict),
        .target(name: "RedisClient", dependencies: ["CHiredis"] + nio, swiftSettings: strict),
        .target(name: "TLSTransport", dependencies: ["COpenSSL"] + nio, swiftSettings: strict),

        // The push service and the pipeline.
        .target(
            name: "Sandbox",
            dependencies: [
                "APNsProtocol", "CVector", "TLSTransport", logging,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + nio,
            exclude: ["README.md"],
            // In the program itself, so that it stays one file.
            resources: [.embedInCode("Page/Files")],
            swiftSettings: strict
        ),
        // Configuration, logs, operations endpoint and certificates, for every role.
        .target(
            name: "BelfrySupport",
            dependencies: [
                "PipelineCore", "PushSchemas", "RedisClient", "TLSTransport", logging, lifecycle,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Yams", package: "Yams"),
            ] + nio,
            swiftSettings: strict
        ),
        // Kafka topics, dead letters, readiness and the ports to clients.
        .target(
            name: "PushTopics",
            dependencies: [
                "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "RedisClient", logging, lifecycle,
            ] + nio,
            swiftSettings: strict
        ),
        // The state of tokens in Redis and in memory.
        .target(
            name: "TokenState",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "PushTopics",
                "RedisClient", "TLSTransport", logging, lifecycle,
            ] + nio,
            exclude: ["README.md"],
            swiftSettings: hot
        ),
        // The worker.
        .target(
            name: "Sender",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "PushTopics",
                "RedisClient", "TLSTransport", "TokenState", logging, lifecycle,
            ] + nio,
            exclude: ["README.md"],
            swiftSettings: hot
        ),
        // Registrar and harvester.
        .target(
            name: "TokenRoles",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "PushTopics",
                "RedisClient", "TLSTransport", "TokenState", logging, lifecycle,
            ] + nio,
            swiftSettings: strict
        ),
        // The work of the commands that are no role.
        .target(
            name: "BelfryTools",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "PushTopics",
                "TLSTransport", "TokenState", logging, lifecycle, protobuf,
            ] + nio,
            swiftSettings: strict
        ),
        // A whole pipeline as processes of one machine, for demo, chaos and integration tests.
        .target(
            name: "LocalPipeline",
            dependencies: ["KafkaClient", "PushSchemas", "PushTopics", "Workbench", protobuf],
            swiftSettings: strict
        ),
        .target(name: "Demo", dependencies: ["LocalPipeline", "PushSchemas", "TokenState"], swiftSettings: strict),
        .executableTarget(
            name: "belfry",
            dependencies: [
                "BelfrySupport", "BelfryTools", "Demo", "PushTopics", "Sandbox", "Sender", "TokenRoles", "TokenState",
                logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),

        // The benchmark: a driver in Swift; floor, load and sink in C, so that nothing of ours is in what we compare
        // with.
        .target(name: "BenchmarkCommon", path: "Tests/Benchmarks/Common", cSettings: strictC),
        .executableTarget(
            name: "belfry-bench-floor",
            dependencies: ["BenchmarkCommon"],
            path: "Tests/Benchmarks/Floor",
            cSettings: strictC,
            linkerSettings: [
                .linkedLibrary("rdkafka"), .linkedLibrary("hiredis"), .linkedLibrary("ssl"), .linkedLibrary("crypto"),
            ]
        ),
        .executableTarget(
            name: "belfry-bench-load",
            dependencies: ["BenchmarkCommon"],
            path: "Tests/Benchmarks/Load",
            cSettings: strictC,
            linkerSettings: [.linkedLibrary("rdkafka"), .linkedLibrary("hiredis")]
        ),
        .executableTarget(
            name: "belfry-bench-sink",
            dependencies: ["BenchmarkCommon"],
            path: "Tests/Benchmarks/Sink",
            cSettings: strictC,
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto"), .linkedLibrary("pthread")]
        ),
        .executableTarget(
            name: "belfry-bench-fire",
            dependencies: ["BenchmarkCommon"],
            path: "Tests/Benchmarks/Fire",
            cSettings: strictC,
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .executableTarget(
            name: "belfry-bench-lookups",
            dependencies: ["BenchmarkCommon"],
            path: "Tests/Benchmarks/Lookups",
            cSettings: strictC,
            linkerSettings: [.linkedLibrary("hiredis")]
        ),
        .executableTarget(
            name: "belfry-bench",
            dependencies: [
                "BenchmarkCommon", "KafkaClient", "PushSchemas", "RedisClient", "Sandbox", "TLSTransport",
                "TokenState", "Workbench", protobuf,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + nio,
            path: "Tests/Benchmarks/Driver",
            swiftSettings: strict
        ),

        // What bad tokens cost.
        .executableTarget(
            name: "belfry-bench-badtokens",
            dependencies: [
                "KafkaClient", "LocalPipeline", "PushSchemas", "PushTopics", "TLSTransport", "Workbench", protobuf,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + nio,
            path: "Tests/Benchmarks/BadTokens",
            swiftSettings: strict
        ),
        // What one sick topic costs a healthy one.
        .executableTarget(
            name: "belfry-bench-isolation",
            dependencies: [
                "APNsProtocol", "KafkaClient", "LocalPipeline", "PushSchemas", "PushTopics", "TLSTransport",
                "Workbench",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + nio,
            path: "Tests/Benchmarks/Isolation",
            swiftSettings: strict
        ),
        // Chaos on real processes.
        .executableTarget(
            name: "belfry-chaos",
            dependencies: [
                "KafkaClient", "LocalPipeline", "PipelineCore", "PushSchemas", "PushTopics", "Workbench", protobuf,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Chaos",
            swiftSettings: strict
        ),
        // The sender against a simulated world.
        .executableTarget(
            name: "belfry-simulate",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PushSchemas", "PushTopics",
                "RedisClient", "Sender", "TLSTransport", "TokenRoles", "TokenState", "Workbench", logging, protobuf,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + nio,
            path: "Tests/Simulation",
            swiftSettings: hot
        ),
        // Fuzz targets: a program of its own with `make fuzz`, else a replay of their corpus.
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/LibFuzzer"),
        .executableTarget(
            name: "belfry-fuzz",
            dependencies: ["APNsProtocol", "CLibFuzzer", "Sandbox"],
            path: "Tests/Fuzz/Targets",
            swiftSettings: strict
        ),

        // What several test targets need; it hands the workbench on.
        .target(name: "TestSupport", dependencies: ["Workbench"], path: "Tests/TestSupport", swiftSettings: strict),
        // A broker that is not ours.
        .target(
            name: "KafkaTestSupport",
            dependencies: ["KafkaClient", "Workbench"],
            path: "Tests/KafkaTestSupport",
            swiftSettings: strict
        ),
        // Token state, brokers and services for the tests of several pipeline targets.
        .target(
            name: "PipelineTestSupport",
            dependencies: [
                "COpenSSL", "KafkaClient", "PushSchemas", "PushTopics", "RedisClient", "TLSTransport", "TestSupport",
                "TokenState", logging,
            ] + nio,
            path: "Tests/PipelineTestSupport",
            swiftSettings: strict
        ),

        // Rules and wrappers, each beside its target.
        .testTarget(
            name: "APNsProtocolTests",
            dependencies: ["APNsProtocol", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PipelineCoreTests",
            dependencies: ["APNsProtocol", "PipelineCore", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(name: "WorkbenchTests", dependencies: ["Workbench"], swiftSettings: strict),
        .testTarget(
            name: "PushSchemasTests",
            dependencies: ["PushSchemas", "TestSupport", protobuf],
            swiftSettings: strict
        ),
        .testTarget(
            name: "KafkaClientTests",
            dependencies: ["KafkaClient", "CRdKafka", "KafkaTestSupport", "TestSupport"] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "RedisClientTests",
            dependencies: ["RedisClient", "CHiredis", "TestSupport"] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "TLSTransportTests",
            dependencies: [
                "TLSTransport", "COpenSSL", "TestSupport", .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "APNsProtocol", "Sandbox", "TLSTransport", "TestSupport", logging,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(name: "FuzzTests", dependencies: ["belfry-fuzz"], swiftSettings: strict),
        // The pipeline, each target beside its tests; BelfryTools tells two of them the exit code of an error.
        .testTarget(
            name: "BelfrySupportTests",
            dependencies: [
                "BelfrySupport", "BelfryTools", "PipelineCore", "PipelineTestSupport", "PushTopics", "RedisClient",
                "Sender", "TLSTransport", lifecycle, logging, .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "TokenStateTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "BelfryTools", "KafkaClient", "PipelineCore", "PipelineTestSupport",
                "PushSchemas", "PushTopics", "RedisClient", "TLSTransport", "TestSupport", "TokenState",
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "SenderTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PipelineTestSupport", "PushSchemas",
                "PushTopics", "RedisClient", "Sender", "TLSTransport", "TestSupport", "TokenState", logging,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "TokenRolesTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "KafkaClient", "PipelineCore", "PipelineTestSupport", "PushSchemas",
                "PushTopics", "RedisClient", "TLSTransport", "TestSupport", "TokenRoles", "TokenState", logging,
                protobuf, .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "BelfryToolsTests",
            dependencies: [
                "APNsProtocol", "BelfrySupport", "BelfryTools", "CRdKafka", "KafkaClient", "PipelineCore",
                "PipelineTestSupport", "PushSchemas", "PushTopics", "TestSupport", "TokenState", logging, protobuf,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BenchmarkDriverTests",
            dependencies: [
                "APNsProtocol", "BenchmarkCommon", "PushSchemas", "belfry-bench", "belfry-bench-isolation", protobuf,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "PipelineCore", "PushSchemas", "Sandbox", "TestSupport", "belfry-bench-badtokens", "belfry-chaos",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["KafkaClient", "PipelineCore", "PushSchemas", "belfry-simulate"],
            swiftSettings: strict
        ),
        // The program as a whole: processes, real servers, kills.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "BelfrySupport", "BelfryTools", "KafkaClient", "KafkaTestSupport", "LocalPipeline", "PipelineCore",
                "PushSchemas", "Sandbox", "TLSTransport", "TestSupport", "TokenState", "Workbench", "belfry", logging,
                protobuf,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio,
            swiftSettings: strict
        ),
    ]
)
