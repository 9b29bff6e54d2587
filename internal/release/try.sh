#!/bin/sh
# Tries what `make dist` has made in the folder given: installs the packages, builds by
# Termux's recipe. What takes a program that is not there is left out, and said.
set -eu
cd "$1"
dist=$PWD
fail() { echo "$dist: $*" >&2; exit 1; }
has() { command -v "$1" > /dev/null || { echo "try.sh: without $1 $2 not tried" >&2; return 1; }; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# Everything that is handed out is in the list, as it is.
if command -v sha256sum > /dev/null; then sha256sum -c --quiet SHA256SUMS; else shasum -a 256 -c SHA256SUMS > /dev/null; fi
for f in *; do
	[ "$f" = SHA256SUMS ] || [ -d "$f" ] || grep -q "  $f\$" SHA256SUMS || fail "$f is not in SHA256SUMS"
done
source=$(echo mlget-*.tar.gz)
version=${source#mlget-} version=${version%.tar.gz}

# folder that stands for /, prefix, zsh's folder, program
installed() {
	at=$1/$2
	cmp "$4" "$at/bin/mlget"
	[ -x "$at/bin/mlget" ] || fail "$at/bin/mlget cannot be run"
	cmp copyright "$at/share/doc/mlget/copyright"
	for page in mlget mlget-links mlget-simulate; do
		gzip -dc "$at/share/man/man1/$page.1.gz" | grep -q '^\.SH SYNOPSIS$' || fail "$page.1"
	done
	for file in bash:bash-completion/completions/mlget zsh:zsh/$3/_mlget fish:fish/vendor_completions.d/mlget.fish; do
		grep -q mlget "$at/share/${file#*:}"
		! has "${file%%:*}" 'its completion is' || "${file%%:*}" -n "$at/share/${file#*:}"
	done
}

# processor, prefix, zsh's folder, program
deb() {
	root=$work/$1
	mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
	: > "$root/var/lib/dpkg/status"
	dpkg --root="$root" --force-architecture --force-not-root --log=/dev/null -i "mlget_${version}_$1.deb" > "$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
	got=$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version} ${Architecture} ${db:Status-Abbrev}' mlget)
	[ "$got" = "$version $1 ii " ] || fail "the package for $1 is $got"
	installed "$root" "$2" "$3" "$4"
}
if has dpkg 'packages for dpkg are'; then
	termux=data/data/com.termux/files/usr
	deb aarch64 $termux site-functions mlget-android-arm64
	deb arm $termux site-functions mlget-linux-arm
	deb amd64 usr vendor-completions mlget-linux-amd64
	deb arm64 usr vendor-completions mlget-linux-arm64
fi

for arch in x86_64:amd64 aarch64:arm64; do
	has rpm 'packages for rpm are' || break
	file=mlget-$version-1.${arch%:*}.rpm
	rpm() { command rpm --dbpath "$work/rpm" "$@"; }
	rpm -K --nosignature "$file" | grep -q 'digests OK' || fail "$file is broken"
	got=$(rpm -qp --qf '%{VERSION} %{ARCH} %{LICENSE}' "$file")
	[ "$got" = "$version ${arch%:*} Apache-2.0" ] || fail "$file is $got"
	rpm -qlp "$file" > "$work/list"
	for want in bin/mlget share/man/man1/mlget.1.gz share/man/man1/mlget-links.1.gz share/doc/mlget/copyright \
		share/bash-completion/completions/mlget share/zsh/site-functions/_mlget share/fish/vendor_completions.d/mlget.fish; do
		grep -qx "/usr/$want" "$work/list" || fail "$file has no /usr/$want"
	done
done

# The source that the recipe names has the checksum that it names, and makes the program.
sh -n build.sh
(
	. ./build.sh
	[ "$TERMUX_PKG_VERSION $TERMUX_PKG_LICENSE $TERMUX_PKG_BUILD_IN_SRC" = "$version Apache-2.0 true" ] || fail 'build.sh: version or licence'
	[ "${TERMUX_PKG_SRCURL##*/}" = "$source" ] && [ "${TERMUX_PKG_SRCURL%%:*} ${TERMUX_PKG_HOMEPAGE%%:*}" = 'https https' ] || fail 'build.sh: addresses'
	grep -q "^$TERMUX_PKG_SHA256  $source\$" SHA256SUMS || fail 'build.sh: the checksum'
	[ ${#TERMUX_PKG_DESCRIPTION} -le 80 ] && [ "${TERMUX_PKG_MAINTAINER#@}" != "$TERMUX_PKG_MAINTAINER" ] || fail 'build.sh: description or maintainer'
)
for arch in aarch64:arm64:mlget-android-arm64 arm:arm:mlget-linux-arm; do
	mkdir "$work/source"
	tar -xzf "$source" -C "$work/source"
	(
		. ./build.sh
		cd "$work/source/mlget-$version"
		export TERMUX_ARCH="${arch%%:*}" TERMUX_PREFIX="$work/prefix-${arch%%:*}"
		goarch=${arch#*:} goarch=${goarch%:*}
		termux_setup_golang() { export GOOS=android GOARCH="$goarch" GOARM=7; }
		termux_step_make
		termux_step_make_install
	)
	installed "$work" "prefix-${arch%%:*}" site-functions "${arch##*:}"
	rm -r "$work/source"
done
echo "$dist: packages and recipe were tried"
