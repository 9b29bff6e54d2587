# Termux's recipe (termux-packages, packages/mlget/build.sh); `make dist` fills in the
# version and the checksum of the source that is released with it.
TERMUX_PKG_HOMEPAGE=https://github.com/mlget/mlget
TERMUX_PKG_DESCRIPTION="Downloads over several network links at once"
TERMUX_PKG_LICENSE="Apache-2.0"
TERMUX_PKG_MAINTAINER="@termux"
TERMUX_PKG_VERSION="@VERSION@"
TERMUX_PKG_SRCURL=https://github.com/mlget/mlget/releases/download/v${TERMUX_PKG_VERSION}/mlget-${TERMUX_PKG_VERSION}.tar.gz
TERMUX_PKG_SHA256=@SHA256@
TERMUX_PKG_BUILD_IN_SRC=true
TERMUX_PKG_AUTO_UPDATE=true

termux_step_make() {
	termux_setup_golang
	# Without cgo Go makes programs for Android only where it is 64-bit ARM; elsewhere a
	# static one for Linux runs.
	[ "$TERMUX_ARCH" = aarch64 ] || export GOOS=linux
	# shellcheck disable=SC2046 # several flags, without blanks in them
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' $(sed -n 's/^LEAN *= //p' Makefile) -o mlget ./cmd/mlget
	sh internal/release/share.sh share
}

termux_step_make_install() {
	install -Dm755 -t "$TERMUX_PREFIX/bin" mlget
	cp -R share "$TERMUX_PREFIX/"
}
