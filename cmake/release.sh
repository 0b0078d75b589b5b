#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release from a finished build. `./dev release VERSION` calls it.
#
#   release.sh VERSION BUILD_DIRECTORY --key FILE --with FOLDER
#   release.sh VERSION BUILD_DIRECTORY --rehearsal [--with FOLDER]
#   release.sh VERSION BUILD_DIRECTORY ... --check    only reports mistakes, before anything is built
# All of it is in build/release-VERSION: the tarball, the packages of Debian 12 and those of Debian 13 (from FOLDER), the
# source, the notes, SHA256SUMS and its signature. Nothing is uploaded, and the tag stays local. FILE is a private key of
# ssh-keygen. A rehearsal makes a key and throws it away. Its tag is vVERSION-rehearsal, and it can do without FOLDER.
set -euo pipefail
die() { printf 'release: %s\n' "$*" >&2; exit 1; }
say() { printf '%s\n' "$*" >&2; }
version=$1
build=$2
shift 2
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "a version is MAJOR.MINOR.PATCH, not '$version'"
key='' rehearsal='' with='' check=''
while [ $# -gt 0 ]; do
  case $1 in
    --key) key=${2:?--key needs a file}; shift 2 ;;
    --with) with=${2:?--with needs a folder}; shift 2 ;;
    --rehearsal) rehearsal=yes; shift ;;
    --check) check=yes; shift ;;
    *) die "there is no option $1; there are --key, --rehearsal, --with and --check" ;;
  esac
done
[ -n "$key$rehearsal" ] ||
  die "give the key that signs, --key FILE, or --rehearsal, which makes a key and throws it away"
[ -z "$key" ] || [ -z "$rehearsal" ] || die "a rehearsal signs with a key of its own; give --key or --rehearsal"
[ -z "$key" ] || [ -f "$key" ] || die "there is no key $key; ssh-keygen -t ed25519 -f $key makes one"
[ -z "$with" ] || compgen -G "$with/*.deb" >/dev/null || die "there are no Debian packages in $with"

# ---- what has to be right first ----

tag=v$version${rehearsal:+-rehearsal}
written=$(sed -nE 's/^project\(belay VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[ "$written" = "$version" ] || die "CMakeLists.txt says version $written, not $version: change it and commit"
section() { awk -v v="$version" '/^## / { on = ($2 == v); next } on' CHANGELOG.md; }
workflow=examples/plugin_ci/workflow.yml
grep "BELAY_VERSION: $version-" $workflow >/dev/null ||
  die "$workflow wants another version than $version: change it and commit"
[ -n "$(section)" ] && grep -E "^## ${version//./\\.} \([0-9]{4}-[0-9]{2}-[0-9]{2}\)\$" CHANGELOG.md >/dev/null ||
  die "CHANGELOG.md has no section '## $version (YYYY-MM-DD)': give the number and the date to Unreleased, and commit"
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
  die "these files differ from the commit: $(git diff --name-only HEAD | tr '\n' ' ')"
! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || die "the tag $tag exists already; git tag -d $tag removes it"
git var GIT_COMMITTER_IDENT >/dev/null 2>&1 ||
  die "git does not know who makes the tag: set user.name and user.email by git config"
[ -z "$check" ] || exit 0
built=$("$build/bin/belay" --version | sed -n '1s/^belay \([0-9.]*\),.*/\1/p')
[ "$built" = "$version" ] || die "$build/bin/belay is of version $built; build it again"

# ---- the files ----

folder=build/release-$version
rm -rf "$folder"
mkdir -p "$folder"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d "${TMPDIR:-/tmp}/belay_release.XXXXXX")
trap 'rm -rf "$work"' EXIT
cmake/tarball/make.sh "$build" "$folder"
cpack --config "$build/CPackConfig.cmake" -B "$work/packages" >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log" >&2; die "cpack failed, see above"; }
cp "$work"/packages/*.deb "$folder/"
for package in ${with:+"$with"/*.deb}; do
  [ ! -e "$folder/${package##*/}" ] || die "$package is one of this release of Debian, and was made already"
  cp "$package" "$folder/"
done
git archive --format=tar --prefix="belay-$version/" HEAD | gzip -9n >"$folder/belay-$version.tar.gz"
{ printf '# Belay %s\n' "$version"; section; } >"$folder/NOTES.md"
for package in "$folder"/*.deb; do
  of=$(dpkg-deb -f "$package" Version)
  [ "${of%%-*}" = "$version" ] || die "$package is of version $of"
done
missing=
for package in "$work"/packages/*.deb; do
  name=$(dpkg-deb -f "$package" Package)
  compgen -G "$folder/${name}_*+deb13_*.deb" >/dev/null || missing+=" $name"
done
[ -z "$missing" ] || [ -n "$rehearsal" ] ||
  die "these packages of Debian 13 are missing:$missing; make them there by ./dev package, and give --with FOLDER"

# ---- signed ----

(cd "$folder" && LC_ALL=C sha256sum -- * >"$work/SHA256SUMS")
mv "$work/SHA256SUMS" "$folder/SHA256SUMS"
if [ -n "$rehearsal" ]; then
  key=$work/key
  ssh-keygen -q -t ed25519 -N '' -C 'rehearsal, not a release' -f "$key"
fi
# If the key is encrypted, the public key comes from the file next to it.
public=$(cat "$key.pub" 2>/dev/null || ssh-keygen -y -f "$key")
printf 'belay namespaces="belay-release" %s\n' "$public" >"$folder/allowed_signers"
ssh-keygen -q -Y sign -f "$key" -n belay-release "$folder/SHA256SUMS" >&2
ssh-keygen -q -Y verify -f "$folder/allowed_signers" -I belay -n belay-release -s "$folder/SHA256SUMS.sig" \
  <"$folder/SHA256SUMS" >&2
(cd "$folder" && sha256sum --check --quiet SHA256SUMS)

git tag -a "$tag" -F "$folder/NOTES.md" --cleanup=verbatim
say "the tag $tag is in this repository alone; git push origin $tag publishes it"
[ -z "$rehearsal" ] || say "this is a rehearsal: its key is thrown away, so nobody can trust the signature"
[ -z "$missing" ] || say "it is not whole: these packages of Debian 13 are missing:$missing"
ls -l "$folder"
