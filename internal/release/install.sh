#!/bin/sh
# Installs mlget on the phone that adb is connected to, in /data/local/tmp, the
# one folder from which the shell may run programs. It needs no root, and
# `rm /data/local/tmp/mlget` on the phone undoes it. ADB may name another adb,
# or one with arguments: ADB='adb -s SERIAL' sh install.sh
set -eu
CDPATH='' cd "$(dirname "$0")" # and to no other dist/ that the caller's CDPATH leads to
adb=${ADB:-adb}
to=/data/local/tmp/mlget
command -v "${adb%% *}" > /dev/null || { echo "install.sh: there is no ${adb%% *}: it is one of Android's platform tools" >&2; exit 1; }

abi=$($adb shell getprop ro.product.cpu.abi | tr -d '\r')
case $abi in
arm64-v8a) file=mlget-android-arm64 ;;
armeabi-v7a | armeabi) file=mlget-linux-arm ;;
x86_64) file=mlget-linux-amd64 ;;
'') echo "install.sh: no phone answers: is USB debugging on, and allowed for this computer?" >&2; exit 1 ;;
*) echo "install.sh: there is no mlget for $abi" >&2; exit 1 ;;
esac
[ -f "$file" ] || { echo "install.sh: $file is not beside this script" >&2; exit 1; }

# What is beside this script must be what was built.
if [ -f SHA256SUMS ]; then
	want=$(awk -v f="$file" '$2 == f { print $1 }' SHA256SUMS)
	if command -v sha256sum > /dev/null; then have=$(sha256sum < "$file"); else have=$(shasum -a 256 < "$file"); fi
	[ "${have%% *}" = "$want" ] || { echo "install.sh: $file is not what SHA256SUMS says" >&2; exit 1; }
fi

$adb push "$file" "$to"
$adb shell chmod 755 "$to"
$adb shell "$to" version
echo "next: $adb shell $to links"
