#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `--on RELEASE` of ./dev test and ./dev bench refuses a release that it does not know. As an ordinary user it prints why it
# does nothing.
#
#   other_release_test.sh SOURCE_DIRECTORY
set -euo pipefail
source=$1
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

for command in test bench; do
  said=$("$source/dev" $command --on buster 2>&1) && fail "$command takes a release that it does not know"
  [[ $said == *"dev: $command --on knows bookworm, trixie and sid, not 'buster'"* ]] || fail "it says: $said"
done

as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
status=0
said=$("${as_user[@]}" bash -s trixie /nowhere bench <"$source/tests/install/other_release.sh" 2>&1) || status=$?
[ $status = 77 ] || fail "it ends with $status and not 77: $said"
[[ $said == "SKIPPED: bench on trixie: a chroot is for root; run it as root" ]] ||
  fail "it says: $said"
echo "refused, and skipped"
