#!/usr/bin/env bash
# Builds the program with Swift's libraries inside, stripped, and makes of it in FOLDER a Debian package and a tarball.
# Usage: Deploy/package/build.sh FOLDER. Needs Swift, dpkg-dev, and the headers that Deploy/dependencies.sh installs.
# The date of the commit (or SOURCE_DATE_EPOCH) is that of all files, so that the same source gives the same bytes.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:?usage: Deploy/package/build.sh FOLDER}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tree=$folder/tree
version=$(sed -nE 's/.*text = "([^"]+)".*/\1/p' Sources/BelfrySupport/Support/BelfryVersion.swift)
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

say() { printf 'package: %s\n' "$*" >&2; }

# Beside the house's own build, which links Swift's libraries from outside.
flags=(-c release -j "${JOBS:-2}" --scratch-path .build-package --static-swift-stdlib --product belfry
    -Xswiftc -enable-testing --explicit-target-dependency-import-check error)
swift build "${flags[@]}"
built=$(swift build "${flags[@]}" --show-bin-path)/belfry

rm -rf "$tree"
program=$tree/usr/bin/belfry
install -D --mode=0755 "$built" "$program"
strip "$program"
# Written by the program itself, and never older than it.
put() { install -D --mode=0644 "$1" "$tree/$2"; }
made=$folder/made
mkdir -p "$made"
"$program" --generate-completion-script bash >"$made/bash"
"$program" --generate-completion-script zsh >"$made/zsh"
"$program" --generate-completion-script fish >"$made/fish"
"$program" --experimental-dump-help | python3 -B Deploy/package/manual.py "$version" "$SOURCE_DATE_EPOCH" |
    gzip --best --no-name >"$made/manual"
"$program" config schema >"$made/schema"
put "$made/bash" usr/share/bash-completion/completions/belfry
put "$made/zsh" usr/share/zsh/vendor-completions/_belfry
put "$made/fish" usr/share/fish/vendor_completions.d/belfry.fish
put "$made/manual" usr/share/man/man1/belfry.1.gz
put "$made/schema" usr/share/belfry/configuration.schema.json
for page in Deploy/*.md Deploy/runbook/*.md README.md; do put "$page" "usr/share/doc/belfry/$page"; done
put LICENSE usr/share/doc/belfry/copyright
put Deploy/belfry.yaml usr/share/doc/belfry/examples/belfry.yaml
for rules in Deploy/prometheus/alerts/*.yaml; do put "$rules" "usr/share/belfry/alerts/${rules##*/}"; done
put Deploy/systemd/belfry.sysusers usr/lib/sysusers.d/belfry.conf
(cd Deploy/systemd && find . -name '*.service' -o -name '*.conf') | while read -r unit; do
    put "Deploy/systemd/$unit" "usr/lib/systemd/system/$unit"
done
install --directory --mode=0755 "$tree/etc/belfry"

# The libraries that the program asks for have to be those that the package depends on.
work=$folder/shlibs
mkdir -p "$work/debian"
printf 'Source: belfry\n\nPackage: belfry\nArchitecture: any\n' >"$work/debian/control"
asked=$(cd "$work" && dpkg-shlibdeps -O "$program" | sed 's/^shlibs:Depends=//' | tr ',' '\n' |
    sed -E 's/^ *([^ ]+).*/\1/' | sort)
named=$(sed -n 's/^Depends: //p' Deploy/package/control | tr ',' '\n' | sed -E 's/^ *([^ ]+).*/\1/' | sort)
if missing=$(comm -23 <(printf '%s\n' "$asked") <(printf '%s\n' "$named")) && [[ -n $missing ]]; then
    say "the program needs $(xargs <<<"$missing"), which Deploy/package/control does not name under Depends"
    exit 1
fi

find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
tarball=$folder/belfry-$version-linux-$architecture.tar.gz
tar --create --directory="$tree" --sort=name --owner=0 --group=0 --numeric-owner \
    --transform="s,^\.,belfry-$version," . | gzip --best --no-name >"$tarball"

mkdir -p "$tree/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" \
    -e "s/@KIBIBYTES@/$(du --summarize --apparent-size --block-size=1024 "$tree" | cut -f 1)/" \
    Deploy/package/control >"$tree/DEBIAN/control"
for script in postinst prerm postrm; do install --mode=0755 "Deploy/package/$script" "$tree/DEBIAN/$script"; done
package=$folder/belfry_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >&2
rm -rf "$tree" "$made" "$work"
say "$package and $tarball are made"
