#!/bin/sh
# Builds the command without cgo and checks that it needs nothing at run time: the file has no
# dynamic section, and it runs a model where no other file is. What this machine cannot check is
# named; with CI set, it fails.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}

fail() { echo "static: $*"; exit 1; }
leave_out() {
	[ -z "${CI:-}" ] || fail "$*"
	echo "static: left out: $*"
}

os=$("$go" env GOOS)
if [ "$os" != linux ]; then
	echo "static: left out: got $os, want linux"
	exit 0
fi

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/root"
bin=$work/root/stowage
CGO_ENABLED=0 "$go" build -tags static -o "$bin" ./cmd/stowage
echo "static: built stowage, $(wc -c <"$bin") bytes"

if command -v readelf >/dev/null 2>&1; then
	got=$(readelf -d "$bin" 2>&1)
	case $got in
	*"no dynamic section"*) echo "static: readelf -d: no dynamic section" ;;
	*) fail "readelf -d: got a dynamic section, want none:
$got" ;;
	esac
else
	leave_out "readelf -d: no readelf (apt-get install binutils)"
fi

if command -v file >/dev/null 2>&1; then
	got=$(file -b "$bin")
	case $got in
	*"statically linked"*) echo "static: file: statically linked" ;;
	*) fail "file: got $got, want statically linked" ;;
	esac
else
	leave_out "file: no file (apt-get install file)"
fi

model=${STOWAGE_TESTDATA:-../shared}/models/mnist
if [ "$(id -u)" != 0 ]; then
	leave_out "chroot: got user $(id -un), want root"
elif ! command -v chroot >/dev/null 2>&1; then
	leave_out "chroot: no chroot (apt-get install coreutils)"
else
	got=$(chroot "$work/root" /stowage demo 2>&1) || fail "chroot: stowage demo: got
$got"
	echo "static: in an empty chroot: stowage demo: $(echo "$got" | grep -c '^wrote') files written"
	if [ -d "$model" ]; then
		cp -R "$model" "$work/root/mnist"
		got=$(chroot "$work/root" /stowage test /mnist 2>&1) || fail "chroot: stowage test /mnist: got
$got"
		echo "static: in an empty chroot: stowage test /mnist: $(echo "$got" | tail -n 1)"
	else
		echo "static: left out: chroot: stowage test: no test data at $model"
	fi
fi
