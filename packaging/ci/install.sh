#!/bin/sh
# Installs a release of cgemu: install.sh VERSION DIRECTORY
#
# Downloads the archive for this platform, compares its checksum with that of the release, and puts what is in it into DIRECTORY.
#   CGEMU_RELEASES  where releases are: the directory above v0.1.0 (https://github.com/cgemu/cgemu/releases/download)
#   CGEMU_SHA256    the checksum to compare with, instead of that in the release's SHA256SUMS
set -eu

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

[ $# = 2 ] || fail "usage: install.sh VERSION DIRECTORY"
version=${1#v} directory=$2

suffix=.tar.gz program=cgemu
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
FreeBSD) os=freebsd ;;
MINGW* | MSYS* | CYGWIN*) os=windows suffix=.zip program=cgemu.exe ;; # the bash that comes with git
*) fail "there is no archive for $(uname -s) that this script can unpack: see docs/install.md" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no archive for $(uname -m)" ;;
esac

base=cgemu_${version}_${os}_$arch
releases=${CGEMU_RELEASES:-https://github.com/cgemu/cgemu/releases/download}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

download() {
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 -o "$work/$1" "$releases/v$version/$1" || fail "cannot download $releases/v$version/$1"
	elif command -v wget >/dev/null; then
		wget -q -O "$work/$1" "$releases/v$version/$1" || fail "cannot download $releases/v$version/$1"
	else
		fail "neither curl nor wget is there"
	fi
}

checksum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	else
		shasum -a 256 "$1"
	fi | cut -d ' ' -f 1
}

archive=$base$suffix
download "$archive"
want=${CGEMU_SHA256:-}
if [ -z "$want" ]; then
	download SHA256SUMS
	want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
	[ -n "$want" ] || fail "the release's SHA256SUMS does not name $archive"
fi
got=$(checksum "$work/$archive")
[ "$got" = "$want" ] || fail "$archive has the checksum $got, expected $want: nothing was installed"

if [ "$suffix" = .zip ]; then
	unzip -q "$work/$archive" -d "$work"
else
	tar -xzf "$work/$archive" -C "$work"
fi
mkdir -p "$directory"
cp -R "$work/$base/." "$directory"
"$directory/$program" version
