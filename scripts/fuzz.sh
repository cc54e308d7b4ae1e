#!/bin/sh
# Runs every fuzz target of the module for the given time, 10s unless told. A find is left in the
# package's testdata/fuzz, to be committed with its fix.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-10s}

grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "$(dirname "$file") $target"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$(dirname "$file")" </dev/null
	done
done
