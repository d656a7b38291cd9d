#!/usr/bin/env bash
# Generates Sources/PushSchemas/Generated from Schemas/. The result is committed, so that a build needs no protoc;
# run this after changing a .proto file.
#
# protoc is taken from the PATH (Debian: protobuf-compiler). protoc-gen-swift comes from the very version of
# swift-protobuf that the package pins, built from its checkout unless PROTOC_GEN_SWIFT names one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

plugin=${PROTOC_GEN_SWIFT:-}
if [[ -z $plugin ]]; then
    checkout=.build/checkouts/swift-protobuf
    [[ -d $checkout ]] || swift package resolve
    # A scratch directory outside the checkout: SwiftPM keeps checkouts read-only.
    scratch=.build/protoc-gen-swift
    swift build --package-path "$checkout" --scratch-path "$scratch" -c release --product protoc-gen-swift
    plugin=$scratch/release/protoc-gen-swift
fi

output=Sources/PushSchemas/Generated
rm -rf "$output"
mkdir -p "$output"
mapfile -t schemas < <(cd Schemas && find belfry -name '*.proto' | LC_ALL=C sort)
protoc --proto_path=Schemas --plugin=protoc-gen-swift="$plugin" \
    --swift_opt=Visibility=Public --swift_opt=FileNaming=DropPath \
    --swift_out="$output" "${schemas[@]}"
echo "generated ${#schemas[@]} files in $output"
