#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All libraries that a build lacks are named at once, each with its Debian package.
#
#   missing_libraries.sh SOURCE_DIRECTORY
set -euo pipefail
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_missing.XXXXXX")
trap 'rm -rf "$here"' EXIT
fail() { cat "$here/out"; printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# Two that are there are taken for missing: one that CMake finds by its package, and one by its files.
cmake -S "$1" -B "$here/build" -G Ninja -DBELAY_TESTS=OFF -DBELAY_BENCH=OFF -DBELAY_CLUSTERS=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DZIP_INCLUDE=OFF >"$here/out" 2>&1 && fail "a build without {fmt} and libzip was configured"
said=$(tr -s ' \n' ' ' <"$here/out")
for sentence in "Libraries that Belay is built with are missing" "{fmt} 9 or newer: libfmt-dev" "libzip: libzip-dev" \
  "As root: apt-get install libfmt-dev libzip-dev"; do
  [[ $said == *"$sentence"* ]] || fail "it does not say: $sentence"
done
echo "both are named"
