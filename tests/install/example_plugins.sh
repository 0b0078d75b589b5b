#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The plugins that `./dev train` builds are those that examples/digits.toml uses: it trains with them alone, and not
# without one of them.
#
#   example_plugins.sh BUILD_DIRECTORY SOURCE_DIRECTORY
set -euo pipefail
build=$1
source=$2
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_example.XXXXXX")
trap 'rm -rf "$here"' EXIT
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

read -r -a plugins < <(sed -n 's/^example_plugins=(\(.*\))$/\1/p' "$source/dev")
[ ${#plugins[@]} -gt 0 ] || fail "dev has no list of example_plugins"
export HOME=$here BELAY_PLUGIN_PATH=$here/plugins
mkdir "$here/plugins"
cp "$build/bin/belay" "$here/"  # beside the plugins of the build it finds those
for plugin in "${plugins[@]}"; do cp "$build/plugins/$plugin.so" "$here/plugins/"; done
train() {  # folder
  (cd "$here" && "$here/belay" run "$source/examples/digits.toml" --set run.dir="$here/$1" --set run.max_steps=20) \
    >"$here/out" 2>&1
}
train run || { cat "$here/out"; fail "examples/digits.toml needs more than the plugins in dev's list"; }
for plugin in "${plugins[@]}"; do
  mv "$here/plugins/$plugin.so" "$here/"
  ! train "without_$plugin" || fail "examples/digits.toml does not need $plugin, which dev builds for it"
  mv "$here/$plugin.so" "$here/plugins/"
done
echo "${#plugins[@]} plugins"
