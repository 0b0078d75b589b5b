#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages, and a training with nothing but what is in the package belay.
#
#   package_test.sh BUILD_DIRECTORY [long]
# long: also that they are made twice with the same bytes, lintian's findings, and the workflow for plugins.
# Ends with 77 if cpack or dpkg-deb is not installed.
set -euo pipefail
build=$1
part=${2:-short}
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_package.XXXXXX")
trap 'rm -rf "$here"' EXIT
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }
for program in cpack dpkg-deb dpkg-shlibdeps gzip; do
  command -v $program >/dev/null || { echo "SKIPPED: there is no $program (apt install cmake dpkg-dev gzip)"; exit 77; }
done

pack() {  # folder
  SOURCE_DATE_EPOCH=1764547200 cpack --config "$build/CPackConfig.cmake" -B "$1" >"$here/cpack.log" 2>&1 ||
    { cat "$here/cpack.log"; fail cpack; }
}

step "five packages are made"
pack "$here"
packages=("$here"/*.deb)
[ ${#packages[@]} = 5 ] || fail "cpack made ${#packages[@]} packages: ${packages[*]}"

step "the program trains with the plugins of its package"
dpkg-deb -x "$here"/belay_*.deb "$here/root"
unset BELAY_PLUGIN_PATH
export HOME=$here/home
mkdir "$HOME"
"$here/root/usr/bin/belay" run "$here/root/usr/share/belay/examples/digits.toml" --set run.dir="$here/run" \
  --set run.max_steps=20 >"$here/out" 2>"$here/err" || { cat "$here/err"; fail "belay run"; }
grep -q accuracy "$here/out" || fail "the run evaluated nothing"
[ -d "$here/run/model.ckpt-20" ] || fail "the run saved nothing"

step "the SDK alone is found by CMake, and the runtime is missed by name"
dpkg-deb -x "$here"/belay-sdk-dev_*.deb "$here/sdk"
mkdir "$here/use"
cat >"$here/use/CMakeLists.txt" <<'CODE'
cmake_minimum_required(VERSION 3.25)
project(use LANGUAGES CXX)
find_package(belay REQUIRED)
find_package(belay QUIET COMPONENTS runtime)
message(STATUS "runtime: ${belay_FOUND} ${belay_NOT_FOUND_MESSAGE}")
CODE
cmake -S "$here/use" -B "$here/use/build" -DCMAKE_PREFIX_PATH="$here/sdk/usr" >"$here/cmake.log" 2>&1 ||
  { cat "$here/cmake.log"; fail "find_package(belay)"; }
grep -Eq "runtime: (FALSE|0) .*belay-runtime-dev" "$here/cmake.log" || { cat "$here/cmake.log"; fail "the missing runtime"; }
[ -z "$(find "$here/root" -name 'mpi_*.so')" ] || fail "the package belay has a plugin of MPI"
for mpi in openmpi mpich; do
  dpkg-deb -c "$here"/belay-${mpi}_*.deb | grep "/belay/plugins/mpi_$mpi.so" >/dev/null || fail "belay-$mpi has no plugin"
done

version=$(dpkg-deb -f "$here"/belay_*.deb Version)
step "packages of one version go together"
goes_with() {  # package field what
  [[ ", $(dpkg-deb -f "$here/$1"_*.deb "$2"), " == *", $3, "* ]] || fail "$1 has no $2: $3"
}
goes_with belay-openmpi Depends "belay (= $version)"
goes_with belay-mpich Depends "belay (= $version)"
goes_with belay-runtime-dev Depends "belay-sdk-dev (= $version)"
goes_with belay-sdk-dev Breaks "belay (<< $version), belay (>> $version)"
grep -q "BELAY_VERSION: ${version%%+*}\$" "$here/root/usr/share/belay/examples/plugin_ci/workflow.yml" ||
  fail "the workflow wants another version than $version"
if [ "$part" != long ]; then
  echo "five packages are right"
  exit 0
fi

step "a second time they have the same bytes"
pack "$here/again"
for package in "${packages[@]}"; do cmp "$package" "$here/again/${package##*/}" || fail "$package is not the same again"; done
dpkg-deb --fsys-tarfile "$here"/belay_*.deb | tar -xO ./usr/share/doc/belay/changelog.Debian.gz | gzip -d |
  grep 'Mon, 01 Dec 2025 00:00:00 +0000' >/dev/null || fail "changelog.Debian has another time than SOURCE_DATE_EPOCH"

if command -v lintian >/dev/null; then
  step "lintian has no error and no warning"
  lintian --allow-root --fail-on error,warning "${packages[@]}" || fail "lintian"
else
  echo "SKIPPED: lintian is not installed, so what it says of the packages is not known"
fi

step "the workflow for plugins builds, tests, validates and trains what belay new makes"
lines_of() {  # the run lines of a step
  awk -v step="- name: $1" 'index($0, "- ") { on = index($0, step) } on && /^          / { print substr($0, 11) }' \
    "$here/root/usr/share/belay/examples/plugin_ci/workflow.yml"
}
mkdir "$here/plugin"
(cd "$here/plugin" && "$here/root/usr/bin/belay" new hook my_hook >/dev/null)
for name in "build and test" validate train; do
  lines_of "$name" | sed 's/--fuzz 60/--fuzz 1/' >"$here/step.sh"
  [ -s "$here/step.sh" ] || fail "the workflow has no step '$name'"
  (cd "$here/plugin/my_hook" && PATH="$here/root/usr/bin:$PATH" CMAKE_PREFIX_PATH="$here/sdk/usr" bash -e "$here/step.sh") \
    >"$here/step.log" 2>&1 || { tail -30 "$here/step.log"; fail "step '$name'"; }
done
echo "five packages are right"
