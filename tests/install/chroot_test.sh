#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages in a Debian of the release that they were built on, which has nothing else: installed, used, removed.
# belay alone first, then what builds plugins and programs against it: the packages that ours depend on are all that
# they have.
#
#   chroot_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY
# Ends with 77 if it cannot be tried: without root, mmdebstrap or Debian's archive. It works in a separate mount namespace,
# so that nothing stays mounted when it is killed.
set -euo pipefail
build=$1
source=$2
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
skip() { printf 'SKIPPED: %s\n' "$*"; exit 77; }
step() { printf -- '-- %s\n' "$*"; }
[ "$(id -u)" = 0 ] || skip "a chroot is for root"
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap (apt install mmdebstrap)"
if [ -z "${BELAY_OWN_MOUNTS:-}" ]; then
  unshare --mount true 2>/dev/null || skip "this root may not mount, which a chroot needs"
  BELAY_OWN_MOUNTS=yes exec unshare --mount "$0" "$@"
fi
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_chroot.XXXXXX")
leave() {
  ! mountpoint -q "$here/root/proc" || umount --lazy "$here/root/proc"
  rm -rf "$here"
}
trap leave EXIT

cpack --config "$build/CPackConfig.cmake" -B "$here" >"$here/cpack.log" 2>&1 || { cat "$here/cpack.log"; fail cpack; }
root=$here/root
release=$(. /etc/os-release; echo "${VERSION_CODENAME:-bookworm}")
step "a Debian $release with nothing but apt"
# A mirror may be older than its index allows.
mmdebstrap --variant=apt --include=ca-certificates --aptopt='Acquire::Check-Valid-Until "false"' \
  "$release" "$root" >"$here/debootstrap.log" 2>&1 ||
  { tail -5 "$here/debootstrap.log"; skip "no Debian could be made here"; }
mount -t proc proc "$root/proc" || skip "/proc cannot be mounted in the chroot"
cp -L /etc/resolv.conf "$root/etc/"
in_chroot() {  # log command: as root, in /root
  chroot "$root" sh -euc "cd /root; $2" >"$here/$1.log" 2>&1 || { tail -40 "$here/$1.log"; fail "$1"; }
}
chroot "$root" apt-get update >"$here/update.log" 2>&1 || { tail -5 "$here/update.log"; skip "Debian's archive cannot be read"; }

step "the package is installed with what it depends on"
cp "$here"/*.deb "$root/tmp/"
in_chroot install 'apt-get install -y --no-install-recommends /tmp/belay_*.deb'

step "it trains, and goes on"
train() { chroot "$root" belay run /usr/share/belay/examples/digits.toml --set run.dir=/tmp/run --set run.max_steps="$1"; }
train 20 >"$here/out" 2>"$here/err" || { cat "$here/err"; fail "belay run"; }
train 40 >"$here/out" 2>"$here/err" || { cat "$here/err"; fail "belay run, again"; }
grep -q "restored step 20" "$here/err" || fail "the second run did not go on"

step "the SDK: a new hook is built, tested, validated and run"
in_chroot sdk_install 'apt-get install -y --no-install-recommends /tmp/belay-sdk-dev_*.deb cmake g++ make libgtest-dev libgmock-dev'
in_chroot sdk 'belay new hook my_hook; cd my_hook; cmake -S . -B build; cmake --build build
  ctest --test-dir build --output-on-failure; belay validate build/*my_hook.so; belay run my_hook.toml'

step "the runtime: examples/embed is built with what its package depends on, and trains"
in_chroot runtime_install 'apt-get install -y --no-install-recommends /tmp/belay-runtime-dev_*.deb'
tar -C "$source/examples" -c embed | chroot "$root" tar -C /root -x
in_chroot runtime 'cmake -S embed -B embed/build; cmake --build embed/build; embed/build/embed run; embed/build/embed run'
grep -q "restored step 200" "$here/runtime.log" || { tail -20 "$here/runtime.log"; fail "embed did not go on"; }

step "the plugins of MPI"
in_chroot mpi_install 'apt-get install -y --no-install-recommends /tmp/belay-openmpi_*.deb /tmp/belay-mpich_*.deb'
in_chroot mpi 'belay plugins'
! grep '^rejected' "$here/mpi.log" || fail "a plugin is refused"
for name in mpi_openmpi mpi_mpich; do
  grep -q " $name " "$here/mpi.log" || { cat "$here/mpi.log"; fail "belay plugins does not list $name"; }
done

step "they go without a trace"
in_chroot purge 'apt-get purge -y "belay*"'
left=$(chroot "$root" sh -c 'ls -d /usr/bin/belay /usr/lib/belay /usr/lib/*/belay /usr/lib/*/cmake/belay /usr/include/belay \
  /usr/share/belay /usr/share/doc/belay* 2>/dev/null' || true)
[ -z "$left" ] || fail "left behind: $left"
echo "installed, used and removed"
