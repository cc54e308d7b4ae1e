#!/bin/sh
# Puts ONNX Runtime's shared library, which bench/ compares with, into the user's cache folder, and
# prints its path. It comes out of the npm package onnxruntime-node, whose scripts are not run.
set -eu
version=1.30.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/stowage/onnxruntime-$version
case $(uname -m) in
x86_64) arch=x64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "fetch-ort: machine $(uname -m): want x86_64 or aarch64" >&2; exit 1 ;;
esac
if [ ! -e "$dir/libonnxruntime.so.1" ]; then
	command -v npm >/dev/null || { echo "fetch-ort: got no npm, want one (apt-get install npm)" >&2; exit 1; }
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	(cd "$tmp" && npm pack --silent "onnxruntime-node@$version" >/dev/null)
	tar xzf "$tmp/onnxruntime-node-$version.tgz" -C "$tmp" "package/bin/napi-v6/linux/$arch/libonnxruntime.so.1"
	mkdir -p "$dir"
	mv "$tmp/package/bin/napi-v6/linux/$arch/libonnxruntime.so.1" "$dir/"
fi
echo "$dir/libonnxruntime.so.1"
