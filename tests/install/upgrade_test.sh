#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dpkg exchanges the package belay while a run is in progress: that run continues to its end. A run that was killed before is
# continued by the new version, which warns; with --exact it refuses.
#
#   upgrade_test.sh BUILD_DIRECTORY
# The new version is the same package with another number and another build id: two numbers, one set of bits. dpkg works in
# a separate folder. Ends with 77 if a program is missing, and without root.
set -euo pipefail
build=$1
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }
for program in cpack dpkg dpkg-deb dpkg-shlibdeps readelf; do
  command -v $program >/dev/null || { echo "SKIPPED: there is no $program (apt install cmake dpkg-dev binutils)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: dpkg installs as root"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_upgrade.XXXXXX")
running=
leave() {
  [ -z "$running" ] || kill -9 "$running" 2>/dev/null || true
  rm -rf "$here"
}
trap leave EXIT

step "two packages of different versions"
cpack --config "$build/CPackConfig.cmake" -B "$here" >"$here/cpack.log" 2>&1 || { cat "$here/cpack.log"; fail cpack; }
old=$(echo "$here"/belay_*.deb)
version=$(dpkg-deb -f "$old" Version)
new_version=9${version#*[0-9]}
dpkg-deb -R "$old" "$here/new"
sed -i "s/^Version: .*/Version: $new_version/" "$here/new/DEBIAN/control"
program=$here/new/usr/bin/belay
LC_ALL=C sed -i "s/belay ${version%%-*}/belay ${new_version%%-*}/g" "$program"
note=$(readelf -SW "$program" | awk '{ sub(/^ *\[ *[0-9]+\] */, "") } $1 == ".note.gnu.build-id" { print $4 }')
[ -n "$note" ] || fail "$program has no build id"
printf 'another id' | dd of="$program" bs=1 seek=$((0x$note + 16)) conv=notrunc status=none  # its bytes are after the header
dpkg-deb -b "$here/new" "$here/new.deb" >"$here/log"

root=$here/root
belay=$root/usr/bin/belay
mkdir -p "$root/var/lib/dpkg/"{info,updates,triggers}
touch "$root/var/lib/dpkg/"{status,available}
install_package() { dpkg --root="$root" --log=/dev/null --force-depends -i "$1" >"$here/log" 2>&1 || { cat "$here/log"; fail "dpkg -i $1"; }; }
unset BELAY_PLUGIN_PATH
export HOME=$here/home
mkdir "$HOME"

step "with the old one a run is in progress, and another was killed"
install_package "$old"
[[ $("$belay" --version) == "belay ${version%%-*},"* ]] || fail "belay --version says $("$belay" --version)"
digits() {  # name option...
  exec "$belay" run "$root/usr/share/belay/examples/digits.toml" --set run.dir="$here/$1" --set run.max_steps=1000 \
    --set checkpoint.save_steps=100 "${@:2}" >"$here/$1.out" 2>"$here/$1.err"
}
begin() {  # name: until its first checkpoint
  (digits "$1") &
  running=$!
  while ! [ -d "$here/$1/model.ckpt-100" ]; do kill -0 $running || { cat "$here/$1.err"; fail "the run has ended early"; }; done
}
begin killed
kill -9 $running
wait $running 2>/dev/null || true
begin going
kill -STOP $running

step "the new one is installed; the run continues to its end"
install_package "$here/new.deb"
[[ $("$belay" --version) == "belay ${new_version%%-*},"* ]] || fail "belay --version says $("$belay" --version)"
[ ! -e "$here/going/finished" ] || fail "the run had ended before the package was exchanged"
kill -CONT $running
wait $running || { cat "$here/going.err"; fail "the run ended with $?"; }
running=
grep accuracy "$here/going.out" >/dev/null || { cat "$here/going.err"; fail "the run evaluated nothing at its end"; }

step "the new one refuses --exact for the killed run, and continues it with a warning"
status=0
(digits killed --exact) || status=$?
[ $status = 2 ] && grep -E -- '--exact: since model.ckpt-[0-9]+ was saved binary was [0-9a-f]+, is [0-9a-f]+$' "$here/killed.err" >/dev/null ||
  { cat "$here/killed.err"; fail "--exact ends with $status"; }
(digits killed) || { cat "$here/killed.err"; fail "the killed run"; }
grep -E 'warning the run may not end with the same bits as one that was never stopped: binary was [0-9a-f]+, is [0-9a-f]+$' \
  "$here/killed.err" >/dev/null || { cat "$here/killed.err"; fail "it does not warn of the other version"; }
grep 'restored step' "$here/killed.err" >/dev/null || { cat "$here/killed.err"; fail "it did not continue"; }
cmp "$here/going/model.ckpt-1000/model.safetensors" "$here/killed/model.ckpt-1000/model.safetensors" ||
  fail "the same instructions came to other bits"
echo "upgraded from $version to $new_version while it ran"
