#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tarball in Debians that have nothing else, as an ordinary user: it trains, is killed and continues; a new hook that the
# compiler of that Debian built is tested and run.
#
#   tarball_chroot_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY [RELEASE...]
# The releases are bookworm, trixie and sid. sid changes every day, so a failure there is reported and does not count. Ends
# with 77 if no chroot can be made: without root, mmdebstrap or Debian's archive; and on other releases than Debian 12. It
# works in a separate mount namespace, so that nothing stays mounted when it is killed.
set -euo pipefail
build=$1
source=$2
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }
[ "$(id -u)" = 0 ] || skip "a chroot is for root"
for program in mmdebstrap patchelf zstd; do
  command -v $program >/dev/null || skip "there is no $program (apt install mmdebstrap patchelf zstd)"
done
(. /etc/os-release && [ "$ID $VERSION_ID" = "debian 12" ]) || skip "the tarball is made on Debian 12"
if [ -z "${BELAY_OWN_MOUNTS:-}" ]; then
  unshare --mount true 2>/dev/null || skip "this root may not mount, which a chroot needs"
  BELAY_OWN_MOUNTS=yes exec unshare --mount "$0" "$@"
fi
shift 2
[ $# -gt 0 ] || set -- bookworm trixie sid
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_tarball_chroot.XXXXXX")
leave() {
  for root in "$here"/root_*; do ! mountpoint -q "$root/proc" || umount --lazy "$root/proc"; done
  rm -rf "$here"
}
trap leave EXIT

"$source/cmake/tarball/make.sh" "$build" "$here" fast >"$here/make.log" 2>&1 || { cat "$here/make.log"; fail "make.sh"; }
packed=$(echo "$here"/belay-*.tar.gz)  # gzip is in every Debian, and zstd is not

on() {  # release
  local release=$1 root=$here/root_$1
  as_user() { chroot --userspec=1000:1000 "$root" env -i HOME=/home/user PATH=/usr/bin:/bin sh -euc "cd; $1"; }
  try() {  # what, command
    as_user "$2" >"$here/log" 2>&1 || { tail -40 "$here/log"; fail "$release: $1"; }
  }
  step "$release with nothing but its base, and the tarball"
  # A mirror may be older than its index allows.
  mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' "$release" "$root" >"$root.log" 2>&1 ||
    { tail -5 "$root.log"; return 77; }
  mount -t proc proc "$root/proc" || return 77
  mkdir -p "$root/home/user"
  cp "$packed" "$root/home/user/belay.tar.gz"
  chown -R 1000:1000 "$root/home/user"
  try unpack 'tar -xf belay.tar.gz && mv belay-*-linux-x86_64 belay && belay/bin/belay doctor'
  step "it trains to 97 %, is killed, and comes to the same bits"
  try train 'belay/bin/belay run belay/share/belay/examples/digits.toml --set run.dir=/home/user/calm'
  grep -E 'accuracy = 0\.9[7-9]' "$here/log" >/dev/null || { tail -5 "$here/log"; fail "$release: the accuracy"; }
  try kill 'digits() { exec belay/bin/belay run belay/share/belay/examples/digits.toml --set run.dir=/home/user/killed --set checkpoint.save_steps=200; }
    (digits) & while ! [ -d killed/model.ckpt-400 ]; do kill -0 $!; done; kill -9 $!; wait $! || true; (digits)'
  grep 'restored step' "$here/log" >/dev/null || { tail -20 "$here/log"; fail "$release: it did not continue"; }
  try compare 'cmp calm/model.ckpt-3000/model.safetensors killed/model.ckpt-3000/model.safetensors'
  step "a new hook is built with the compiler of $release, tested and run"
  cp -L /etc/resolv.conf "$root/etc/"
  chroot "$root" sh -euc 'apt-get update; apt-get install -y --no-install-recommends cmake g++ make libgtest-dev libgmock-dev' \
    >"$here/log" 2>&1 || { tail -5 "$here/log"; return 77; }
  try 'a new hook' 'belay/bin/belay new hook my_hook; cd my_hook; cmake -S . -B build -DCMAKE_PREFIX_PATH=/home/user/belay
    cmake --build build; ctest --test-dir build --output-on-failure; ../belay/bin/belay validate build/my_hook.so; ../belay/bin/belay run my_hook.toml'
  step "a plugin that needs this compiler's libstdc++ is loaded"
  # What <iostream> and std::string of g++ 13 and newer ask for is not in the libstdc++ of the tarball.
  try 'a hook with <iostream>' 'cd my_hook; sed -i "1i #include <iostream>" my_hook.cc; cmake --build build; ../belay/bin/belay run my_hook.toml --from-scratch'
}
tried=no
for release in "$@"; do
  status=0
  (on "$release") || status=$?
  case $status in
    0) tried=yes ;;
    77) echo "SKIPPED on $release: it could not be made here" ;;
    *) [ "$release" = sid ] || exit $status; echo "it failed on sid: that is no failure of this tree" ;;
  esac
done
[ $tried = yes ] || exit 77
echo "used as it is"
