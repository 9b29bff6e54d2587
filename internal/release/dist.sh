#!/bin/sh
# Makes packages of the programs in dist/, with nfpm, whose path is given: `make dist`.
set -eu
nfpm=$1
dist=$PWD/dist
version=$(sed -n 's/^const Release = "\(.*\)"$/\1/p' internal/cli/program/build.go)
git() { command git -c safe.directory='*' "$@"; } # which may be another user's
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -f "$dist"/mlget_* "$dist"/mlget-*.rpm "$dist"/mlget-*.tar.gz
sh internal/release/share.sh "$dist/share"

# format, processor as the format calls it, program, prefix, zsh's folder, where it cannot run
package() {
	cat > "$dist/nfpm.yaml" <<-END
		name: mlget
		version: $version
		arch: $2
		deb: {arch: $2}
		rpm: {arch: $2, buildhost: mlget}
		maintainer: the mlget authors <mlget@users.noreply.github.com>
		homepage: https://github.com/mlget/mlget
		license: Apache-2.0
		section: net
		priority: optional
		description: |
		  Downloads over several network links at once
		  mlget downloads one file over Wi-Fi and cellular at once, so that both finish
		  at the same moment, and continues by itself what was interrupted.${6:+
		  $6}
		contents:
		- {src: dist/$3, dst: $4/bin/mlget, file_info: {mode: 0755}}
		- {src: dist/share/man, dst: $4/share/man, type: tree}
		- {src: dist/share/bash-completion, dst: $4/share/bash-completion, type: tree}
		- {src: dist/share/fish, dst: $4/share/fish, type: tree}
		- {src: dist/share/zsh/site-functions/_mlget, dst: $4/share/zsh/$5/_mlget}
		- {src: dist/share/doc, dst: $4/share/doc, type: tree}
	END
	"$nfpm" package --config "$dist/nfpm.yaml" --packager "$1" --target "$dist/"
	rm "$dist/nfpm.yaml"
}
termux=/data/data/com.termux/files/usr
package deb aarch64 mlget-android-arm64 $termux site-functions
# Google Play's Termux has its programs started by the system's loader, which takes
# position-independent ones only.
package deb arm mlget-linux-arm $termux site-functions 'This program is static: it runs in the Termux of F-Droid and GitHub, and not in that of Google Play.'
for arch in amd64 arm64; do
	package deb $arch mlget-linux-$arch /usr vendor-completions
done
package rpm x86_64 mlget-linux-amd64 /usr site-functions
package rpm aarch64 mlget-linux-arm64 /usr site-functions

# The source of this version, and how Termux builds it.
git archive --format=tar --prefix="mlget-$version/" HEAD | gzip -9n > "$dist/mlget-$version.tar.gz"
sum() { if command -v sha256sum > /dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
sed "s/@VERSION@/$version/; s/@SHA256@/$(sum < "$dist/mlget-$version.tar.gz" | cut -d ' ' -f 1)/" internal/release/build.sh > "$dist/build.sh"

cp internal/release/install.sh internal/release/Dockerfile "$dist/"
cp "$dist/share/doc/mlget/copyright" "$dist/"
cd "$dist"
sum mlget-* linklab-* mlget_* install.sh build.sh Dockerfile copyright > SHA256SUMS
awk 'END { print "dist/SHA256SUMS: " NR " files" }' SHA256SUMS
