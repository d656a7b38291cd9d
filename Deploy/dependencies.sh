#!/usr/bin/env bash
# Installs what building and testing Belfry needs beyond a Swift toolchain: Debian packages that are missing, and a
# Python environment in .venv with the tools of python-tools.txt. Says what it does; says nothing but "complete" when
# there is nothing to do. Runs on Debian 12 as root, or as a user with sudo.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
    # Headers and libraries that Sources/C* wrap; pkg-config is how SwiftPM finds them.
    librdkafka-dev libssl-dev libhiredis-dev libnghttp2-dev pkg-config
    # Servers and clients that tests, demo and benchmarks start as processes of their own.
    redis-server openssl kcat xxd jq tinyproxy-bin
    # Clients, a load generator, a server and a proxy of HTTP/2, likewise.
    nghttp2 curl
    # callgrind, with which benchmarks count instructions, and strip, without which it cannot read our program.
    valgrind binutils
    # A browser without a screen, for the tests of pages, and a font for it to write with.
    chromium chromium-driver fonts-dejavu-core
    # Prometheus, which tests ask what dashboards ask it, and promtool, which knows whether metrics and alert rules are
    # well-formed.
    prometheus
    # systemd-analyze, which knows whether units are.
    systemd
    # dpkg-shlibdeps, with which the package of the program finds the libraries that it needs.
    dpkg-dev
    # For .venv.
    python3 python3-venv
    # For .ci/lint.
    git
)

say() { printf 'deps: %s\n' "$*" >&2; }

require_swift() {
    if ! command -v swift >/dev/null; then
        say "no 'swift' in PATH: install the Swift 6.3 toolchain from https://www.swift.org/install"
        exit 1
    fi
}

# Prints the packages that are not installed, one a line.
missing_packages() {
    local package
    for package in "${packages[@]}"; do
        if [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
            printf '%s\n' "$package"
        fi
    done
}

install_packages() {
    local missing as_root=()
    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]} == 0)); then
        return
    fi
    if ! command -v apt-get >/dev/null; then
        say "no apt-get here: install by hand what Debian 12 calls ${missing[*]}"
        exit 1
    fi
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            say "not root, and no sudo: let an administrator run 'apt-get install ${missing[*]}'"
            exit 1
        fi
        as_root=(sudo)
    fi
    say "installing Debian packages: ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" bash -euo pipefail -c "$as_root_script" deps "${missing[@]}" >/dev/null
}

# Installs the packages that are its arguments. Their services stay as they are: tests start servers of their own, and
# need only the programs. Debian asks policy-rc.d whether a service may be started, and 101 says no.
# shellcheck disable=SC2016 # another shell expands this
as_root_script='
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        trap "rm -f $policy" EXIT
        printf "#!/bin/sh\nexit 101\n" >"$policy"
        chmod 755 "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@"
'

install_python_tools() {
    local wanted=Deploy/python-tools.txt installed=.venv/installed.txt
    if cmp --silent "$wanted" "$installed"; then
        return
    fi
    say "installing into .venv: $(grep -v '^#' "$wanted" | xargs)"
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check --requirement "$wanted"
    # Last, so that an installation that was cut off is taken up again.
    cp "$wanted" "$installed"
}

require_swift
install_packages
install_python_tools
say complete
