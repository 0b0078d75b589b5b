#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The package belay in a Debian 12 that has nothing else: installed, used, removed.
#
#   chroot_test.sh BUILD_DIRECTORY
# Ends with 77 where it cannot be tried: without root, mmdebstrap or Debian's archive.
set -euo pipefail
build=$1
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_chroot.XXXXXX")
trap 'rm -rf "$here"' EXIT
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }
[ "$(id -u)" = 0 ] || { echo "SKIPPED: a chroot is for root"; exit 77; }
command -v mmdebstrap >/dev/null || { echo "SKIPPED: there is no mmdebstrap (apt install mmdebstrap)"; exit 77; }

cpack --config "$build/CPackConfig.cmake" -B "$here" >"$here/cpack.log" 2>&1 || { cat "$here/cpack.log"; fail cpack; }
root=$here/root
step "a Debian 12 with nothing but apt, and the package"
mmdebstrap --variant=apt --include=ca-certificates \
  --customize-hook="copy-in $(echo "$here"/belay_*.deb) /tmp" \
  --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /tmp/belay_*.deb"' \
  bookworm "$root" >"$here/debootstrap.log" 2>&1 ||
  { tail -5 "$here/debootstrap.log"; echo "SKIPPED: no Debian could be made here"; exit 77; }

step "it trains, and goes on"
mount -t proc proc "$root/proc" || { echo "SKIPPED: /proc cannot be mounted in the chroot"; exit 77; }
trap 'umount "$root/proc" 2>/dev/null; rm -rf "$here"' EXIT
train() { chroot "$root" belay run /usr/share/belay/examples/digits.toml --set run.dir=/tmp/run --set run.max_steps="$1"; }
train 20 >"$here/out" 2>"$here/err" || { cat "$here/err"; fail "belay run"; }
train 40 >"$here/out" 2>"$here/err" || { cat "$here/err"; fail "belay run, again"; }
grep -q "step 40" "$here/err" || fail "the second run did not go on"

step "it goes without a trace"
chroot "$root" sh -c 'apt-get purge -y belay' >"$here/purge.log" 2>&1 || { cat "$here/purge.log"; fail "apt-get purge"; }
left=$(chroot "$root" sh -c 'ls -d /usr/bin/belay /usr/lib/belay /usr/share/belay /usr/share/doc/belay 2>/dev/null' || true)
[ -z "$left" ] || fail "left behind: $left"
echo "installed, used and removed"
