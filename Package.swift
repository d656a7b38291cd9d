// swift-tools-version:6.2
import PackageDescription

// Warnings are errors in every target of ours; a target may use only what it names here
// (`make build` passes --explicit-target-dependency-import-check error).
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "belfry",
    platforms: [.macOS(.v26)],
    targets: [
        // Ground floor: no I/O, no Foundation.
        .target(name: "APNsProtocol", swiftSettings: strict),

        // Rules and wrappers, each beside its target.
        .testTarget(name: "APNsProtocolTests", dependencies: ["APNsProtocol"], swiftSettings: strict),
    ]
)
