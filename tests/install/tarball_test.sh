#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tarball has the content that docs/reference/tarball.md lists. It trains alone, in one folder and then in another.
#
#   tarball_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY [long]
# long: also that it is made twice with the same bytes, its sizes, a plugin built with its SDK and a program with its runtime.
# Ends with 77 if a program that makes the tarball is not installed, and on other releases than Debian 12.
set -euo pipefail
build=$1
source=$2
part=${3:-short}
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_tarball_test.XXXXXX")
trap 'rm -rf "$here"' EXIT
page=$source/docs/reference/tarball.md
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }
for program in patchelf objcopy zstd gzip python3 ninja; do
  command -v $program >/dev/null || { echo "SKIPPED: there is no $program (apt install patchelf binutils zstd)"; exit 77; }
done
(. /etc/os-release && [ "$ID $VERSION_ID" = "debian 12" ]) || { echo "SKIPPED: the tarball is made on Debian 12"; exit 77; }

level=fast
[ "$part" != long ] || level=best
step "it is made, and unpacked in a folder with another name"
"$source/cmake/tarball/make.sh" "$build" "$here" $level >"$here/make.log" 2>&1 || { cat "$here/make.log"; fail "make.sh"; }
packed=("$here"/belay-*-linux-x86_64.tar.zst)
[ -f "${packed[0]}" ] && [ -f "${packed[0]%.zst}.gz" ] || fail "there is no .tar.zst or no .tar.gz"
mkdir -p "$here/a folder"
tar -C "$here/a folder" --zstd -xf "${packed[0]}"
mv "$here/a folder"/belay-* "$here/a folder/first"
tree="$here/a folder/first"

step "each file needs glibc up to the floor of the page, and no library from elsewhere"
floor=$(sed -n 's/^.*needs glibc \([0-9.]*\) or newer.*$/\1/p' "$page" | head -n 1)
[ -n "$floor" ] || fail "$page does not say which glibc the tarball needs"
mapfile -t files < <(find "$tree/bin" "$tree/libexec" "$tree/lib" -type f \( -name '*.so*' -o -name belay \))
[ ${#files[@]} -gt 100 ] || fail "only ${#files[@]} programs and libraries"
for file in "${files[@]}"; do
  highest=$(readelf -VW "$file" | sed -nE 's/.*Name: GLIBC_([0-9.]+) .*/\1/p' | sort -V | tail -n 1)
  [ "$(printf '%s\n' "$highest" "$floor" | sort -V | tail -n 1)" = "$floor" ] ||
    fail "$file needs glibc $highest; the page says $floor"
  while read -r path; do
    case $path in
      '$ORIGIN' | '$ORIGIN:$ORIGIN/inner' | '$ORIGIN:$ORIGIN/..' | '$ORIGIN/../lib/belay/libraries') ;;
      *) fail "$file has the library path $path" ;;
    esac
  done < <(readelf -dW "$file" | sed -nE 's/.*\(R(UN)?PATH\).*\[(.*)\]/\2/p')
  while read -r library; do
    case $library in
      libc.so.6 | libm.so.6 | libgcc_s.so.1 | libstdc++.so.6 | ld-linux-x86-64.so.2) ;;
      libarc4random.so) [ -f "$tree/lib/belay/libstdc++/$library" ] || fail "$file needs $library" ;;
      libmpi.so.12 | libmpi.so.40 | libmpich.so.12) [[ $file == */mpi_*.so ]] || fail "$file needs $library" ;;
      *)
        [ -f "$tree/lib/belay/libraries/$library" ] || { [[ $file == */libraries/* ]] && [ -f "$tree/lib/belay/libraries/inner/$library" ]; } ||
          fail "$file needs $library, which is not in the tarball"
        ;;
    esac
  done < <(readelf -dW "$file" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
done
for pair in mpi_openmpi:libmpi.so.40 mpi_mpich:libmpich.so.12 mpi_mpich_abi:libmpi.so.12; do
  readelf -dW "$tree/lib/belay/plugins/${pair%:*}.so" | grep -F "[${pair#*:}]" >/dev/null || fail "${pair%:*} does not need ${pair#*:}"
  grep -F "| \`${pair#*:}\` | \`${pair%:*}\` |" "$page" >/dev/null || fail "$page does not list ${pair%:*} and ${pair#*:}"
done

step "it holds what the page lists, and whose that is"
find "$tree/lib/belay/libraries" "$tree/lib/belay/libstdc++" -type f -printf '%f\n' | sed -E 's/\.(so|a).*//' | sort >"$here/inside"
sed -n 's,^| `\(lib[^`/]*\)` | [^`].*,\1,p' "$page" | sort >"$here/listed"
diff "$here/listed" "$here/inside" || fail "left: what $page lists; right: what is in the tarball"
while read -r library package _; do
  [ -s "$tree/share/doc/belay/libraries/$package.copyright" ] || fail "$library of $package has no terms in the tarball"
done <"$tree/share/doc/belay/libraries/libraries.tsv"
[ "$(wc -l <"$tree/share/doc/belay/libraries/libraries.tsv")" -ge 15 ] || fail "libraries.tsv is too short"
python3 - "$tree" <<'CODE' || fail "belay.spdx.json is wrong"
import hashlib, json, pathlib, sys

tree = pathlib.Path(sys.argv[1])
documentation = tree / "share/doc/belay"
document = json.loads((documentation / "belay.spdx.json").read_text(encoding="utf-8"))
belay, *others = document["packages"]
files = [p for p in others if "packageFileName" in p]
inside = [f for folder in ("libraries", "libstdc++") for f in (tree / "lib/belay" / folder).rglob("*.*") if f.is_file()]
own = {"lib/belay/libstdc++/libarc4random.so"}
assert {p["packageFileName"] for p in files} == {str(f.relative_to(tree)) for f in inside} - own, files
for p in files:
    assert p["checksums"][0]["checksumValue"] == hashlib.sha256((tree / p["packageFileName"]).read_bytes()).hexdigest(), p
headers = {p["name"] for p in others} - {p["name"] for p in files}
assert {"libeigen3-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libxxhash-dev"} <= headers, headers
assert not {"libgtest-dev", "libgmock-dev", "libbenchmark-dev"} & headers, headers
texts = {licence["licenseId"] for licence in document["hasExtractedLicensingInfos"]}
for p in others:
    assert p["licenseDeclared"] in texts and (documentation / "libraries" / f"{p['name']}.copyright").stat().st_size, p
identifiers = [p["SPDXID"] for p in document["packages"]]
assert len(set(identifiers)) == len(identifiers), identifiers
assert {r["relatedSpdxElement"] for r in document["relationships"]} == set(identifiers), document["relationships"]
CODE
! grep -rlF -e "$build" -e "$here" "$tree" || fail "these files name a folder of the machine that made them"

step "bin/belay takes the newer libstdc++"
newest=$(readelf -VW "$tree/lib/belay/libstdc++/libstdc++.so.6" | grep -oE 'Name: GLIBCXX_[0-9.]+' | sort -V | tail -n 1)
[ "$newest" = "Name: $(grep -aoE 'GLIBCXX_[0-9.]+' "$tree/bin/belay" | head -n 1)" ] ||
  fail "launcher.c knows another version than the newest of libstdc++, $newest"
mkdir "$here/old"  # a library of that name without any version
echo 'int nothing;' | gcc -shared -fPIC -xc - -Wl,-soname,libstdc++.so.6 -o "$here/old/libstdc++.so.6"
env -i LD_LIBRARY_PATH="$here/old" "$tree/bin/belay" --version >"$here/out" 2>&1 || { cat "$here/out"; fail "with an old libstdc++"; }
env -i LD_DEBUG=libs "$tree/bin/belay" --version >"$here/out" 2>"$here/debug"
if grep -E "calling init: $tree/.*libstdc" "$here/debug" >/dev/null; then fail "it takes its own libstdc++ although the system's is as new"; fi
env -i LD_LIBRARY_PATH="$here/old" LD_DEBUG=libs "$tree/bin/belay" --version >"$here/out" 2>"$here/debug"
grep -F "calling init: $tree/lib/belay/libstdc++/libstdc++.so.6" "$here/debug" >/dev/null || fail "it does not take its own libstdc++"

step "it trains with an empty environment, also after its folder was moved"
belay() { env -i HOME="$here/home" PATH=/usr/bin:/bin "$tree/bin/belay" "$@"; }
mkdir "$here/home"
train() {  # steps
  belay run "$tree/share/belay/examples/digits.toml" --set run.dir="$here/run" --set run.max_steps="$1" \
    >"$here/out" 2>"$here/err" || { cat "$here/err"; fail "belay run to step $1"; }
}
train 20
mv "$tree" "$here/moved"
tree=$here/moved
train 40
grep "restored step 20" "$here/err" >/dev/null || { cat "$here/err"; fail "the second run did not continue"; }
belay plugins >"$here/plugins.txt"
! grep '^rejected' "$here/plugins.txt" || { cat "$here/plugins.txt"; fail "a plugin is refused"; }
[[ $(belay describe gloo) == *gloo* ]] || fail "belay describe gloo"
for plugin in npz tf_bundle gloo tfrecord; do
  belay validate "$tree/lib/belay/plugins/$plugin.so" >"$here/out" 2>&1 || { cat "$here/out"; fail "belay validate $plugin"; }
done

step "the lines of README.md and of its page do"
for text in "$source/README.md" "$page"; do
  awk '/^    tar -xf belay-/ { on = 1 } !/^    / { on = 0 } on { print substr($0, 5) }' "$text" >"$here/lines"
  [ "$(wc -l <"$here/lines")" = 3 ] || fail "$text has other lines than three for the tarball"
  mkdir "$here/new_here"
  cp "${packed[0]}" "$here/new_here"
  (cd "$here/new_here" && env -i HOME="$here/new_here" PATH=/usr/bin:/bin sh -euc "$(cat "$here/lines") --set run.max_steps=20") \
    >"$here/out" 2>&1 || { cat "$here/out" "$here/lines"; fail "the lines of $text"; }
  [ -d "$here/new_here/digits/model.ckpt-20" ] || fail "the lines of $text have trained nothing"
  rm -rf "$here/new_here"
done

step "an MPI that is not here is named, with what to do"
if ! ldconfig -p 2>/dev/null | grep -F 'libmpi.so.12' >/dev/null; then
  printf '[run]\ndir = "ranks"\nmax_steps = 1\n[input.train]\nplugin = "digits"\n[model]\nplugin = "mlp"\n[optimizer]\nname = "sgd"\n[cluster]\nplugin = "mpi_mpich_abi"\n' >"$here/mpi.toml"
  ! belay run "$here/mpi.toml" >"$here/out" 2>&1 || fail "it runs without libmpi.so.12"
  grep -F 'libmpi.so.12 (wanted by' "$here/out" >/dev/null && grep -F 'load the module of that MPI, or name the plugin of the one that is here: mpi_openmpi is for libmpi.so.40' "$here/out" >/dev/null ||
    { cat "$here/out"; fail "the message does not say what to do"; }
  # Debian's MPICH under the name that it has elsewhere.
  mkdir "$here/mpi"
  cp "$(ldconfig -p | awk '$1 == "libmpich.so.12" { print $NF; exit }')" "$here/mpi/libmpi.so.12"
  # It needs another libibverbs, and gets that, not the one of the tarball.
  echo 'int nothing;' | gcc -shared -fPIC -xc - -Wl,-soname,libibverbs.so.1 -o "$here/mpi/libibverbs.so.1"
  patchelf --add-needed libibverbs.so.1 "$here/mpi/libmpi.so.12"
  env -i HOME="$here/home" LD_LIBRARY_PATH="$here/mpi" LD_DEBUG=files "$tree/bin/belay" run "$here/mpi.toml" >"$here/out" 2>"$here/debug" ||
    { grep -v 'file=' "$here/debug"; fail "mpi_mpich_abi with libmpi.so.12"; }
  grep -F "calling init: $here/mpi/libibverbs.so.1" "$here/debug" >/dev/null || fail "the MPI of the cluster has not its own libibverbs"
fi
mv "$tree/libexec" "$here/away"
! belay --version >"$here/out" 2>&1 || fail "it runs without libexec"
grep -F "belay: $tree/libexec/belay: No such file or directory; bin/belay needs the other folders" "$here/out" >/dev/null ||
  { cat "$here/out"; fail "the message of a folder that is not whole"; }
mv "$here/away" "$tree/libexec"

step "pkg-config and CMake find the SDK of the moved folder"
cflags=$(PKG_CONFIG_PATH=$tree/share/pkgconfig pkg-config --cflags belay-sdk)
[[ $cflags == *"$tree/"*include* ]] || fail "pkg-config says $cflags"

if [ "$part" != long ]; then
  echo "the tarball holds"
  exit 0
fi

step "a second one has the same bytes; sizes are those of the page"
"$source/cmake/tarball/make.sh" "$build" "$here/again" best >"$here/make.log" 2>&1 || { cat "$here/make.log"; fail "make.sh"; }
for file in "$here/again"/*; do cmp "$file" "$here/$(basename "$file")" || fail "it is not the same again"; done
size() {  # name bytes: within a tenth of the page's size
  local said
  said=$(sed -n "s/^| $1 | \([0-9]*\) MiB |.*/\1/p" "$page")
  [ -n "$said" ] || fail "$page does not say how large $1 is"
  awk -v said="$said" -v is="$2" 'BEGIN { is /= 1048576; exit !(is > said * 0.9 - 1 && is < said * 1.1 + 1) }' ||
    fail "$1 has $(($2 / 1048576)) MiB; $page says $said"
}
size '`.tar.zst`' "$(stat -c %s "${packed[0]}")"
size '`.tar.gz`' "$(stat -c %s "${packed[0]%.zst}.gz")"
size 'unpacked' "$(du -sb "$tree" | cut -f1)"

step "belay new: a hook is built with the SDK inside, tested, validated and run"
(
  cd "$here"
  export HOME=$here/home
  unset BELAY_PLUGIN_PATH
  "$tree/bin/belay" new hook ceiling >new.log
  cd ceiling
  cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$tree" >"$here/log" 2>&1 && cmake --build build >>"$here/log" 2>&1 &&
    ctest --test-dir build --output-on-failure >>"$here/log" 2>&1 && "$tree/bin/belay" validate build/ceiling.so >>"$here/log" 2>&1 &&
    "$tree/bin/belay" run ceiling.toml >>"$here/log" 2>&1
) || { tail -40 "$here/log"; fail "the new hook"; }
grep -F -- "-DCMAKE_PREFIX_PATH=$tree" "$here/new.log" >/dev/null || fail "belay new does not say where its SDK is"

step "examples/embed is linked with the libraries of the tarball, and trains"
cp -r "$source/examples/embed" "$here/embed"
cmake -S "$here/embed" -B "$here/embed/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$tree" >"$here/log" 2>&1 &&
  cmake --build "$here/embed/build" >>"$here/log" 2>&1 || { tail -40 "$here/log"; fail "building examples/embed"; }
ldd "$here/embed/build/embed" | grep "libdnnl.* => $tree/lib/belay/libraries/" >/dev/null ||
  { ldd "$here/embed/build/embed"; fail "embed is linked with another oneDNN"; }
(cd "$here/embed" && build/embed run) >"$here/log" 2>&1 || { tail -20 "$here/log"; fail "embed"; }
echo "the tarball holds"
