#!/bin/sh
# Makes what lies below a system's share/ in the folder given: manual pages, what shells
# complete, licences. It takes Go; run it where the source is.
set -eu
share=$1
unset GOOS GOARCH GOARM # what makes the pages runs here
export CGO_ENABLED=0
umask 022
rm -rf "$share"
mkdir -p "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d" "$share/doc/mlget"
go build -trimpath -buildvcs=false -tags nethttpomithttp2 -o "$share/mlget" ./cmd/mlget
"$share/mlget" man --dir "$share/man/man1"
gzip -9n "$share"/man/man1/*.1
"$share/mlget" completion bash > "$share/bash-completion/completions/mlget"
"$share/mlget" completion zsh > "$share/zsh/site-functions/_mlget"
"$share/mlget" completion fish > "$share/fish/vendor_completions.d/mlget.fish"
rm "$share/mlget"
cp -R docs/services "$share/doc/mlget/"

# Of the modules that are linked on any system, and of Go itself.
{
	cat LICENSE
	for system in linux android windows; do
		GOOS=$system GOARCH=arm64 go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/mlget ./cmd/linklab
	done | sort -u | while read -r path version dir; do
		printf '\n---- %s %s\n\n' "$path" "$version"
		licences=$(find "$dir" -maxdepth 1 -name 'LICEN[SC]E*' -o -maxdepth 1 -name COPYING -o -maxdepth 1 -name NOTICE)
		[ -n "$licences" ] || { echo "no licence in $dir" >&2; exit 1; }
		cat $licences
	done
	printf '\n---- Go\n\n'
	cat "$(go env GOROOT)/LICENSE"
} > "$share/doc/mlget/copyright"
