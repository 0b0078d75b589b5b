#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls ./dev in a copy of this tree, in a Debian of a release: for `--on RELEASE` of ./dev test, bench and release.
#
#   other_release.sh RELEASE SOURCE_DIRECTORY COMMAND [option of the command...]
# It works on a copy. build/on/RELEASE keeps the chroot with its packages and its build for the next time; to begin anew,
# remove it. Ends with 77 if no chroot can be made here.
set -euo pipefail
release=$1
source=$2
command=$3
shift 2
skip() { echo "SKIPPED: $command on $release: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "a chroot is for root; run it as root"
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap (apt install mmdebstrap)"
unshare --mount --pid --fork true 2>/dev/null || skip "this root may not mount, which a chroot needs"
root=$source/build/on/$release

# `made` is written last, so that what was broken off is made anew. A mirror may be older than its index allows.
if [ ! -f "$root/made" ]; then
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  mmdebstrap --variant=apt --include=ca-certificates,mount --aptopt='Acquire::Check-Valid-Until "false"' \
    "$release" "$root" >"$root.log" 2>&1 || { tail -5 "$root.log"; rm -rf "$root"; skip "mmdebstrap could not make it"; }
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"  # no package starts its service
  chmod +x "$root/usr/sbin/policy-rc.d"
  mkdir -p "$root/src"
  touch "$root/made"
fi
cp -L /etc/resolv.conf "$root/etc/"
# A file that was changed while the last build ran is older than that build's objects, so it gets a new time.
sums() { (cd "$root/src" && find . -path ./build -prune -o -type f -exec sha256sum {} + | sort); }
sums >"$root/sums"
find "$root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$source" --exclude=./build -c . | tar -C "$root/src" -x --no-same-owner
sums | comm -13 "$root/sums" - | cut -c67- | (cd "$root/src" && while read -r file; do touch "$file"; done)

# It runs in separate namespaces, so that mounts and processes end with it. The chroot is a mount, so that tests can mount
# inside of it.
exec unshare --mount --pid --fork --kill-child sh -euc '
  mount --bind "$0" "$0"
  mount -t proc proc "$0/proc"
  mount --rbind /sys "$0/sys"
  mkdir -p "$0/dev/pts" "$0/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$0/dev/pts"
  mount -t tmpfs tmpfs "$0/dev/shm"
  exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /src/dev "$@"' "$root" "$@"
