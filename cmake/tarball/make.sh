#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes belay-VERSION-linux-x86_64.tar.zst and .tar.gz of a finished build. `./dev tarball` calls it.
#
#   make.sh BUILD_DIRECTORY OUTPUT_DIRECTORY [LEVEL]
# LEVEL of zstd and gzip: "best", or "fast" for tests. The same build gives the same bytes: names are sorted, times are
# SOURCE_DATE_EPOCH or that of the newest commit, and the owner is root. docs/reference/tarball.md lists the content.
set -euo pipefail
build=$1
output=$2
level=${3:-best}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { printf 'tarball: %s\n' "$*" >&2; exit 1; }
(. /etc/os-release && [ "$ID $VERSION_ID" = "debian 12" ]) ||
  die "a tarball is made on Debian 12, the oldest release that Belay is built on, so that it runs on newer systems, too"
for program in patchelf objcopy zstd gzip python3 ninja; do
  command -v $program >/dev/null || die "needs $program (apt install patchelf binutils zstd gzip python3 ninja-build)"
done
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' "$build/CMakeCache.txt")
name=belay-$version-linux-x86_64
work=$(mktemp -d "${TMPDIR:-/tmp}/belay_tarball.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/$name
umask 022

for component in '' tarball; do
  cmake --install "$build" --prefix "$tree" --strip ${component:+--component $component} >"$work/install.log" 2>&1 ||
    { cat "$work/install.log" >&2; die "cmake --install failed, see above"; }
done
plugins=$tree/lib/belay/plugins libraries=$tree/lib/belay/libraries cxx=$tree/lib/belay/libstdc++
[ -d "$plugins" ] ||
  die "$build installs no lib/belay/plugins; configure it without CMAKE_INSTALL_PREFIX and CMAKE_INSTALL_LIBDIR"
[ -f "$plugins/mpi_mpich_abi.so" ] || die "$build was configured without BELAY_CLUSTERS, which a tarball needs"

# The program is libexec/belay, and bin/belay starts it: its files are found from the folder above it in either place.
mkdir -p "$tree/libexec" "$libraries"
mv "$tree/bin/belay" "$tree/libexec/belay"
mv "$tree/bin/launcher/belay" "$tree/bin/belay"
rmdir "$tree/bin/launcher"

# Upstream MPICH, Intel MPI, MVAPICH2 and Cray MPICH have one ABI and this library name; Debian has given its own another.
# patchelf would move the note that the loader reads.
LC_ALL=C sed -i 's/libmpich\.so\.12\x00/libmpi.so.12\x00\x00\x00/' "$plugins/mpi_mpich_abi.so"

# ---- private copies ----

# Libraries that every glibc system has are not copied. Neither is MPI, which belongs to the cluster's network.
systems='^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|libgcc_s|libstdc\+\+)\.so'
mapfile -t programs < <(find "$tree/libexec/belay" "$plugins"/*.so ! -name 'mpi_*')
for program in "${programs[@]}"; do ldd "$program"; done >"$work/ldd"
! grep 'not found' "$work/ldd" >&2 || die "libraries are missing on this system, see above"
while read -r library path; do
  [[ $library =~ $systems ]] || install -m 644 "$path" "$libraries/$library"
done < <(awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' "$work/ldd" | sort -u)
# Libraries that only other libraries need are not in the program's path. The libraries of the cluster's MPI are searched
# there too, and its libibverbs is another one.
for program in "${programs[@]}"; do patchelf --print-needed "$program"; done | sort -u >"$work/needed"
mkdir "$libraries/inner"
for file in "$libraries"/*.so*; do
  grep -Fx "${file##*/}" "$work/needed" >/dev/null || mv "$file" "$libraries/inner/"
done
install -m 644 "$(gcc -print-file-name=libbacktrace.a)" "$libraries/"
install -m 644 "$(realpath "$(g++ -print-file-name=libstdc++.so.6)")" "$cxx/libstdc++.so.6"

# libstdc++ asks for arc4random of glibc 2.36; nothing else here needs more than 2.34. It gets that function from the
# library next to it: its entry for 2.36 becomes one for 2.34, and glibc has no such function of that version.
if objdump -T "$cxx/libstdc++.so.6" | grep 'GLIBC_2\.36) arc4random$' >/dev/null; then
  objcopy --dump-section .gnu.version_r="$work/versions" "$cxx/libstdc++.so.6"
  python3 - "$work/versions" <<'CODE'
import pathlib, struct, sys

def entry(data, version):  # where the Elf64_Vernaux of a version is: hash, flags, other, name, next
    number = 0
    for byte in version:
        number = (number << 4) + byte
        high = number & 0xF0000000
        number = (number ^ high ^ (high >> 24)) & 0x0FFFFFFF
    assert data.count(struct.pack("<IH", number, 0)) == 1, version
    return data.index(struct.pack("<IH", number, 0))

path = pathlib.Path(sys.argv[1])
data = bytearray(path.read_bytes())
new, old = entry(data, b"GLIBC_2.36"), entry(data, b"GLIBC_2.34")
for field in (0, 8):
    data[new + field:new + field + 4] = data[old + field:old + field + 4]
path.write_bytes(data)
CODE
  objcopy --update-section .gnu.version_r="$work/versions" "$cxx/libstdc++.so.6"
  patchelf --add-needed libarc4random.so "$cxx/libstdc++.so.6"
  patchelf --force-rpath --set-rpath '$ORIGIN' "$cxx/libstdc++.so.6"
else
  rm "$cxx/libarc4random.so"
fi

# DT_RPATH and not DT_RUNPATH: a module that sets LD_LIBRARY_PATH does not exchange what Belay was tested with, and the
# program's path is also that of the plugins that it loads. A library that needs no other one of these stays as it is.
patchelf --remove-rpath "$tree/libexec/belay" "$plugins"/*.so
patchelf --force-rpath --set-rpath '$ORIGIN/../lib/belay/libraries' "$tree/libexec/belay"
for file in "$libraries"/*.so* "$libraries"/inner/*; do
  [ "${file%/*}" = "$libraries" ] && path='$ORIGIN:$ORIGIN/inner' || path='$ORIGIN:$ORIGIN/..'
  while read -r needed; do
    [ ! -e "$libraries/$needed" ] && [ ! -e "$libraries/inner/$needed" ] ||
      { patchelf --force-rpath --set-rpath "$path" "$file"; break; }
  done < <(patchelf --print-needed "$file")
done

# Programs with their own main find the libraries that they link here too.
in_tree() {
  sed -E 's,/usr/lib/x86_64-linux-gnu/(lib[a-z0-9]+)\.so,@\1@,g; s,LINK_ONLY:backtrace>,LINK_ONLY:@libbacktrace.a@>,g'
}
targets=$tree/lib/cmake/belay/belay-runtime-targets.cmake
in_tree <"$targets" >"$work/targets"
while read -r library; do
  found=$(cd "$libraries" && ls -- "$library" "$library".so.* 2>/dev/null | head -n 1 || true)
  [ -n "$found" ] || die "$targets links $library, which is not in lib/belay/libraries"
  sed -i "s,@$library@,\${_IMPORT_PREFIX}/lib/belay/libraries/$found,g" "$work/targets"
done < <(grep -oE '@lib[a-z0-9.]+@' "$work/targets" | tr -d @ | sort -u)
cp "$work/targets" "$targets"
! grep -rn '/usr/lib' "$tree/lib/cmake" >&2 || die "a CMake file names a place of this system, see above"

# ---- whose they are ----

terms=$tree/share/doc/belay/libraries
mkdir -p "$terms"
for file in "$libraries"/lib* "$libraries"/inner/* "$cxx/libstdc++.so.6"; do
  library=$(basename "$file")
  path=$(awk -v l="$library" '$1 == l && $3 ~ /^\// { print $3; exit }' "$work/ldd")
  [ -n "$path" ] || path=$(gcc -print-file-name="$library")
  path=$(realpath "$path")
  package=$({ dpkg-query -S "$path" || dpkg-query -S "${path#/usr}"; } 2>/dev/null | head -n 1 | cut -d: -f1)
  [ -n "$package" ] || die "no package has $path, so its terms are not known"
  cp -L "/usr/share/doc/$package/copyright" "$terms/$package.copyright"
  printf '%s\t%s\t%s\n' "$library" "$package" "$(dpkg-query -W -f='${Version}' "$package")"
done | LC_ALL=C sort >"$work/libraries.tsv"
mv "$work/libraries.tsv" "$terms/libraries.tsv"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 315532800)}
python3 -B "$here/sbom.py" "$build" "$tree" "$name" "$version" "$epoch"

# ---- packed ----

chmod -R u=rwX,go=rX "$tree"
mkdir -p "$output"
LC_ALL=C tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu \
  -cf "$work/$name.tar" "$name"
case $level in
  best) zstd=(-17) gzip=-9 ;;
  fast) zstd=(-1) gzip=-1 ;;
  *) die "no level $level; there are best and fast" ;;
esac
zstd -q -f -T2 "${zstd[@]}" "$work/$name.tar" -o "$output/$name.tar.zst"
gzip -n $gzip -c "$work/$name.tar" >"$output/$name.tar.gz"
