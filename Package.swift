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
            // Its configuration has its own file format; ours is read by BelfryRuntime.
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
            dependencies: [.product(name: "SwiftProtobuf", package: "swift-protobuf")],
            swiftSettings: strict
        ),

        // Owning wrappers.
        .target(name: "KafkaClient", dependencies: ["CRdKafka"] + nio, swiftSettings: strict),
        .target(name: "RedisClient", dependencies: ["CHiredis"] + nio, swiftSettings: strict),
        .target(name: "TLSTransport", dependencies: ["COpenSSL"] + nio, swiftSettings: strict),

        // The push service and the pipeline.
        .target(
            name: "Sandbox",
            dependencies: [
                "APNsProtocol", "CVector", "TLSTransport",
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ] + nio,
            // In the program itself, so that it stays one file.
            resources: [.embedInCode("Page/Files")],
            swiftSettings: strict
        ),
        .target(
            name: "BelfryRuntime",
            dependencies: [
                "APNsProtocol", "PipelineCore", "PushSchemas", "KafkaClient", "RedisClient", "TLSTransport",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "Yams", package: "Yams"),
            ] + nio,
            exclude: ["Sender/README.md", "TokenState/README.md"],
            swiftSettings: hot
        ),
        .target(
            name: "Demo",
            dependencies: [
                "APNsProtocol", "BelfryRuntime", "KafkaClient", "PushSchemas", "Sandbox",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "belfry",
            dependencies: [
                "BelfryRuntime", "Demo", "Sandbox",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
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
                "BelfryRuntime", "BenchmarkCommon", "KafkaClient", "PushSchemas", "RedisClient", "Sandbox",
                "TLSTransport", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ] + nio,
            path: "Tests/Benchmarks/Driver",
            swiftSettings: strict
        ),

        // What bad tokens cost.
        .executableTarget(
            name: "belfry-bench-badtokens",
            dependencies: [
                "BelfryRuntime", "Demo", "KafkaClient", "PushSchemas", "TLSTransport", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ] + nio,
            path: "Tests/Benchmarks/BadTokens",
            swiftSettings: strict
        ),
        // What one sick topic costs a healthy one.
        .executableTarget(
            name: "belfry-bench-isolation",
            dependencies: [
                "APNsProtocol", "BelfryRuntime", "Demo", "KafkaClient", "PushSchemas", "TLSTransport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + nio,
            path: "Tests/Benchmarks/Isolation",
            swiftSettings: strict
        ),
        // Chaos on real processes.
        .executableTarget(
            name: "belfry-chaos",
            dependencies: [
                "BelfryRuntime", "Demo", "KafkaClient", "PushSchemas", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            path: "Tests/Chaos",
            swiftSettings: strict
        ),
        // The sender against a simulated world.
        .executableTarget(
            name: "belfry-simulate",
            dependencies: [
                "APNsProtocol", "BelfryRuntime", "KafkaClient", "PipelineCore", "PushSchemas", "RedisClient",
                "TLSTransport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ] + nio,
            path: "Tests/Simulation",
            swiftSettings: strict
        ),
        // Fuzz targets: a program of its own with `make fuzz`, else a replay of their corpus.
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/LibFuzzer"),
        .executableTarget(
            name: "belfry-fuzz",
            dependencies: ["APNsProtocol", "CLibFuzzer", "Sandbox"],
            path: "Tests/Fuzz/Targets",
            swiftSettings: strict
        ),

        // What several test targets need.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),

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
        .testTarget(
            name: "PushSchemasTests",
            dependencies: ["PushSchemas", "TestSupport", .product(name: "SwiftProtobuf", package: "swift-protobuf")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "KafkaClientTests",
            dependencies: ["KafkaClient", "CRdKafka", "TestSupport"] + nio,
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
                "APNsProtocol", "Sandbox", "TLSTransport", "TestSupport",
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(name: "FuzzTests", dependencies: ["belfry-fuzz"], swiftSettings: strict),
        .testTarget(
            name: "BelfryRuntimeTests",
            dependencies: [
                "APNsProtocol", "BelfryRuntime", "KafkaClient", "PipelineCore", "PushSchemas", "RedisClient",
                "TLSTransport", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "BenchmarkDriverTests",
            dependencies: [
                "APNsProtocol", "BenchmarkCommon", "PushSchemas", "belfry-bench", "belfry-bench-isolation",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ChaosTests",
            dependencies: ["PushSchemas", "Sandbox", "TestSupport", "belfry-bench-badtokens", "belfry-chaos"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["BelfryRuntime", "KafkaClient", "PipelineCore", "PushSchemas", "belfry-simulate"],
            swiftSettings: strict
        ),
        // The program as a whole: processes, real servers, kills.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "BelfryRuntime", "Demo", "KafkaClient", "PipelineCore", "PushSchemas", "Sandbox", "TLSTransport",
                "TestSupport", "belfry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ] + nio,
            swiftSettings: strict
        ),
    ]
)
