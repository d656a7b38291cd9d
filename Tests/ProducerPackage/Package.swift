// swift-tools-version:6.2
import PackageDescription

// A package of another project, which has nothing of ours but the library; built by `.ci/run`.
let package = Package(
    name: "announce",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "belfry", path: "../..")],
    targets: [
        .executableTarget(
            name: "announce",
            dependencies: [.product(name: "BelfryProducer", package: "belfry")]
        )
    ]
)
