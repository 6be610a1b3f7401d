#!/usr/bin/env bash
# Makes a release of the last commit, from a clean clone, in target/release-files: packages of all crates that are
# published, and archives of the command. Publishes nothing.
#
#   ci/release.sh            all steps
#   ci/release.sh STEP...    these: advisories deny api minimal packages archives sbom
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "release: $*" >&2; exit 1; }
step() { printf '\n=== %s\n' "$*"; }

# Known faults of the dependencies. Needs github.com, which has the list.
advisories() {
    cargo deny --manifest-path "$clone/Cargo.toml" --locked check advisories
}

# Licences, sources and duplicates of the dependencies (deny.toml).
deny() {
    cargo deny --manifest-path "$clone/Cargo.toml" --locked check bans licenses sources
}

# The interface of the engine is the one that `ci/interface.txt` lists, so that a review sees what changes it; and since the
# last release no library's has changed in a way that the version does not tell.
api() {
    local tag
    # The items of a trait are listed at the trait, and not for each type that has it.
    cargo public-api -sss --manifest-path "$clone/Cargo.toml" --target-dir "$target" -p sluicegate --all-features |
        awk '!/^pub (const |unsafe )*(fn|type|const) / { of_trait = /^impl.* for / } !of_trait || /^impl/' |
        sed -E 's/\bsluicegate:://g; s/\bcore::(option|result)::(Option|Result)\b/\2/g' >"$work/interface.txt"
    diff -u ci/interface.txt "$work/interface.txt" >"$work/changes" || {
        cp "$work/interface.txt" "$files/"
        cat "$work/changes"
        die "the interface of the engine has changed: copy $files/interface.txt to ci/, if all of that is meant"
    }
    echo "the interface of the engine is as listed: $(wc -l <ci/interface.txt) lines"
    tag=$(git describe --tags --match 'v*' --abbrev=0 2>/dev/null) || { echo "no release before this one: nothing to compare"; return; }
    ci/setup.sh semver
    cargo semver-checks --baseline-rev "$tag" "${published[@]/#/--package=}"
}

# The engine builds with the oldest dependencies that its manifest allows. (Of the other packages, the manifests
# name the versions of Cargo.lock.)
minimal() {
    cp -r "$clone" "$work/minimal"
    (
        cd "$work/minimal"
        # The engine alone: dependencies of tests and of other packages would raise the versions.
        awk '/^\[/ { skip = /dev-dependencies/ || /^\[profile/ } !skip && !/^default-members/' Cargo.toml |
            sed -E 's/^members = .*/members = ["."]/' >alone.toml
        mv alone.toml Cargo.toml
        cargo +nightly update -q -Z direct-minimal-versions
        cargo check -q --lib --features calendar,portable-atomic,serde,tokio --target-dir "$target/minimal"
    )
    echo "the engine builds with the oldest versions"
}

# A package of each crate, built as its users will.
packages() {
    local package file size
    # In a new folder: of one that it knows, cargo would build what this version was the last time.
    cargo package -q --locked --manifest-path "$clone/Cargo.toml" --target-dir "$work" "${published[@]/#/--package=}"
    for package in "${published[@]}"; do
        file=$work/package/$package-$version.crate
        for needed in README.md LICENSE-MIT LICENSE-APACHE; do
            [ "$(tar xOf "$file" "$package-$version/$needed" | wc -c)" -gt 100 ] || die "$package has no $needed"
        done
        size=$(stat -c %s "$file")
        echo "$package: $((size / 1000)) kB"
        cp "$file" "$files/"
    done
    size=$(stat -c %s "$files/sluicegate-$version.crate")
    [ "$size" -le 600000 ] || die "the package of the engine has $size bytes, more than 600,000"
}

# The command with all that it can do, as one static file for each target.
archives() {
    local rust_target name folder runner
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=aarch64-linux-gnu-gcc
    export CC_aarch64_unknown_linux_musl=aarch64-linux-gnu-gcc CFLAGS_aarch64_unknown_linux_musl=-mno-outline-atomics
    for rust_target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do
        cargo build -q --release --locked -p sluicegate-cli --all-features --target "$rust_target" \
            --manifest-path "$clone/Cargo.toml" --target-dir "$target"
        name=sluicegate-$version-$rust_target folder=$work/$name runner=""
        [[ $rust_target = "$(uname -m)"-* ]] || runner=qemu-${rust_target%%-*}
        mkdir -p "$folder/completions" "$folder/man"
        cp "$target/$rust_target/release/sluicegate" "$clone"/{README.md,CHANGELOG.md,LICENSE-MIT,LICENSE-APACHE} \
            "$clone/docs/sluicegate.service" "$folder/"
        readelf -l "$folder/sluicegate" | grep -q INTERP && die "$rust_target: the file needs a loader"
        for shell in bash:sluicegate.bash zsh:_sluicegate fish:sluicegate.fish; do
            $runner "$folder/sluicegate" completions "${shell%%:*}" >"$folder/completions/${shell#*:}"
        done
        $runner "$folder/sluicegate" man --dir "$folder/man"
        # The same files give the same archive.
        tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
            -C "$work" -c "$name" | gzip -n9 >"$files/$name.tar.gz"
        # As its user would.
        mkdir "$work/unpacked"
        tar xzf "$files/$name.tar.gz" -C "$work/unpacked"
        [[ "$($runner "$work/unpacked/$name/sluicegate" --version)" = "sluicegate $version" ]] || die "$name: wrong version"
        $runner "$work/unpacked/$name/sluicegate" | grep -q . || die "$name: no report on the bundled log"
        rm -r "$work/unpacked"
        echo "$name.tar.gz: $(du -h "$files/$name.tar.gz" | cut -f1)"
    done
}

# The bill of materials of the command.
sbom() {
    cargo cyclonedx -q --format json --all-features --manifest-path "$clone/crates/cli/Cargo.toml"
    cp "$clone/crates/cli/sluicegate-cli.cdx.json" "$files/"
}

steps=(advisories deny api minimal packages archives sbom)
for name; do
    [[ " ${steps[*]} " == *" $name "* ]] || die "no step '$name'; the steps are: ${steps[*]}"
done
[ $# -gt 0 ] || set -- "${steps[@]}"

ci/setup.sh base nightly release
field() { sed -nE "s/^$1 = \"(.*)\"/\1/p" Cargo.toml | head -n 1; }
version=$(field version) repository=$(field repository)
mapfile -t published < <(git ls-files '*Cargo.toml' | xargs grep -L '^publish = false' | xargs awk -F'"' '/^name = / && !seen[FILENAME]++ { print $2 }')
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/release-work
files=$(realpath -m "${CARGO_TARGET_DIR:-target}")/release-files
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$files"
mkdir -p "$files"

[ -z "$(git status --porcelain)" ] || echo "release: what is not committed is not in it" >&2
clone=$work/clone
git clone -q . "$clone"
# The README is read elsewhere too, so its links name the repository.
sed -i -E "s#^(\[[^]]+\]: )(docs/[^ ]+\.png)#\1$repository/raw/v$version/\2#; s#^(\[[^]]+\]: )((docs/|[A-Z]+\.md)[^ ]*)#\1$repository/blob/v$version/\2#" "$clone/README.md"
git -C "$clone" -c user.name=release -c user.email=release@localhost commit -qam "readme: links from outside of the repository"
! grep -E '^\[[^]]+\]: ' "$clone/README.md" | grep -v ' https://' || die "a link of the README is not absolute"

for name; do
    step "$name"
    "$name"
done
(cd "$files" && [ -z "$(ls)" ] || sha256sum -- * >SHA256SUMS)
step "files: $files"
ls "$files"
[[ $repository != *.invalid/* ]] || echo "Nothing of this can be published until Cargo.toml names the \`repository\`: $repository is not there."
