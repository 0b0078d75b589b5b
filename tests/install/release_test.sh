#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `./dev release` refuses what is no release, and makes, signs and tags one: with stand-ins for the build and its tarball.
#
#   release_test.sh SOURCE_DIRECTORY
# Ends with 77 if a program that it calls is not installed.
set -euo pipefail
source=$1
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
for program in git ssh-keygen dpkg-deb sha256sum; do
  command -v $program >/dev/null || { echo "SKIPPED: there is no $program (apt install git openssh-client dpkg)"; exit 77; }
done
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_release_test.XXXXXX")
trap 'rm -rf "$here"' EXIT

# A repository with the parts that release.sh reads. The stand-ins write what the real ones do, in small.
mkdir -p "$here/tree/cmake/tarball" "$here/tree/build/release/bin" "$here/programs" "$here/elsewhere"
cd "$here/tree"
cp "$source/cmake/release.sh" cmake/
printf '#!/bin/sh\necho tarball >"$2/belay-1.2.3-linux-x86_64.tar.zst"\n' >cmake/tarball/make.sh
printf '#!/bin/sh\necho "belay 1.2.3, plugin ABI 0.4, build 0"\n' >build/release/bin/belay
deb() {  # version file
  mkdir -p "$here/deb/DEBIAN"
  printf 'Package: belay\nVersion: %s\nArchitecture: amd64\nMaintainer: nobody\nDescription: nothing\n' "$1" >"$here/deb/DEBIAN/control"
  dpkg-deb -b "$here/deb" "$2" >/dev/null
}
deb 1.2.3-1 "$here/belay_1.2.3-1_amd64.deb"
deb 1.2.3-1+deb13 "$here/elsewhere/belay_1.2.3-1+deb13_amd64.deb"
printf '#!/bin/sh\nmkdir -p "$4" && cp "%s" "$4/"\n' "$here/belay_1.2.3-1_amd64.deb" >"$here/programs/cpack"
chmod +x cmake/tarball/make.sh build/release/bin/belay "$here/programs/cpack"
export PATH=$here/programs:$PATH HOME=$here GIT_CONFIG_GLOBAL=/dev/null
unset EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
mkdir -p examples/plugin_ci
printf 'env:\n  BELAY_VERSION: 1.2.3-1\n' >examples/plugin_ci/workflow.yml
printf 'project(belay VERSION 1.2.3 LANGUAGES C CXX)\n' >CMakeLists.txt
printf '# Changes\n\n## 1.2.3 (2026-12-01)\n\n### Added\n* a thing\n\n## 1.2.2\n* an old thing\n' >CHANGELOG.md
echo build >.gitignore
git init -q .
git config user.name somebody
git config user.email somebody@belay.example
git add -A
git commit -q -m release

release() { said=$(cmake/release.sh "$@" 2>&1); }
refused() {  # text version option...
  local text=$1
  shift
  ! release "$1" build/release "${@:2}" || fail "it makes a release: $*"
  [[ $said == *"$text"* ]] || fail "it does not say '$text': $said"
}
refused "a version is MAJOR.MINOR.PATCH, not '1.2'" 1.2 --rehearsal
refused "CMakeLists.txt says version 1.2.3, not 2.0.0: change it and commit" 2.0.0 --rehearsal
refused "give the key that signs, --key FILE, or --rehearsal" 1.2.3
refused "give --key or --rehearsal" 1.2.3 --rehearsal --key CHANGELOG.md
refused "there is no key nowhere; ssh-keygen -t ed25519 -f nowhere makes one" 1.2.3 --key nowhere
refused "there are no Debian packages in $here/tree" 1.2.3 --rehearsal --with "$here/tree"
echo '# more' >>CMakeLists.txt
refused "these files differ from the commit: CMakeLists.txt" 1.2.3 --rehearsal
git checkout -q CMakeLists.txt
[ ! -e build/release-1.2.3 ] && [ -z "$(git tag)" ] || fail "what was refused has left something"

sed -i s/1.2.3/1.2.2/ examples/plugin_ci/workflow.yml
refused "examples/plugin_ci/workflow.yml wants another version than 1.2.3" 1.2.3 --rehearsal
git checkout -q examples
sed -i 's/1.2.3 (.*)/1.2.3/' CHANGELOG.md
refused "CHANGELOG.md has no section '## 1.2.3 (YYYY-MM-DD)'" 1.2.3 --rehearsal
git checkout -q CHANGELOG.md
refused "CMakeLists.txt says version 1.2.3, not 2.0.0" 2.0.0 --rehearsal --check
git config user.useConfigOnly true
git config --unset user.email
refused "git does not know who makes the tag: set user.name and user.email by git config" 1.2.3 --rehearsal --check
git config user.email somebody@belay.example
mv build/release build/away  # nothing is built yet when ./dev asks for the first time
release 1.2.3 build/release --rehearsal --check || fail "it finds something wrong: $said"
mv build/away build/release
[ ! -e build/release-1.2.3 ] || fail "--check makes something"

release 1.2.3 build/release --rehearsal || fail "the rehearsal: $said"
[[ $said == *"it is not whole: these packages of Debian 13 are missing: belay"* ]] || fail "it does not say what is missing: $said"
[[ $said == *"this is a rehearsal: its key is thrown away"* ]] || fail "it does not say that it is a rehearsal: $said"
[ "$(git tag)" = v1.2.3-rehearsal ] || fail "the rehearsal's tag is $(git tag)"
refused "the tag v1.2.3-rehearsal exists already" 1.2.3 --rehearsal

ssh-keygen -q -t ed25519 -N '' -f "$here/key"
refused "these packages of Debian 13 are missing: belay; make them there by ./dev package" 1.2.3 --key "$here/key"
mkdir "$here/same"
cp "$here"/belay_1.2.3-1_amd64.deb "$here/same"
refused "belay_1.2.3-1_amd64.deb is one of this release of Debian" 1.2.3 --key "$here/key" --with "$here/same"
[ "$(git tag)" = v1.2.3-rehearsal ] || fail "what was refused has a tag: $(git tag)"
release 1.2.3 build/release --key "$here/key" --with "$here/elsewhere" || fail "the release: $said"
[[ $said == *"the tag v1.2.3 is in this repository alone"* ]] || fail "it does not say where the tag is: $said"
cd build/release-1.2.3
diff - <(ls) <<'FILES' || fail "the files of the release"
NOTES.md
SHA256SUMS
SHA256SUMS.sig
allowed_signers
belay-1.2.3-linux-x86_64.tar.zst
belay-1.2.3.tar.gz
belay_1.2.3-1+deb13_amd64.deb
belay_1.2.3-1_amd64.deb
FILES
printf '# Belay 1.2.3\n\n### Added\n* a thing\n\n' | diff - NOTES.md || fail "the notes"
tar -tf belay-1.2.3.tar.gz | grep -x belay-1.2.3/CMakeLists.txt >/dev/null || fail "the source"
# As docs/reference/tarball.md writes it.
verify=$(sed -n 's/^    \(ssh-keygen -Y verify .*\)/\1/p' "$source/docs/reference/tarball.md")
check=$(sed -n 's/^    \(sha256sum --check .*\)/\1/p' "$source/docs/reference/tarball.md")
[ -n "$verify" ] && [ -n "$check" ] || fail "docs/reference/tarball.md does not say how a release is verified"
sh -c "$verify" >/dev/null || fail "the signature: $verify"
sh -c "$check" >/dev/null || fail "the checksums: $check"
grep -F "$(cut -d' ' -f2 "$here/key.pub")" allowed_signers >/dev/null || fail "allowed_signers has another key"
echo changed >>NOTES.md
! sh -c "$check" >/dev/null 2>&1 || fail "a changed file passes"
echo changed >>SHA256SUMS
! sh -c "$verify" >/dev/null 2>&1 || fail "a changed list passes"
echo "refused, made, signed and tagged"
