#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What users have: an installed tree, and nothing of the build tree. Builds against it and runs what comes out.
#
#   install_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY [long]
# long: also every kind of plugin, every example program, and each header by itself.
set -euo pipefail
build=$1
source=$2
part=${3:-short}
here=$(mktemp -d "${TMPDIR:-/tmp}/belay_install.XXXXXX")
trap 'rm -rf "$here"' EXIT
prefix=$here/prefix
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }

step "install"
cmake --install "$build" --prefix "$prefix" >"$here/install.log" 2>&1 || { cat "$here/install.log"; fail "cmake --install"; }
belay=$prefix/bin/belay
unset BELAY_PLUGIN_PATH
export HOME=$here/home
mkdir "$HOME"

step "the program needs only what Debian packages have, and nothing of the build tree"
dynamic=$(readelf -d "$belay")
expected='libdnnl|libgomp|libisal|libre2|libprotobuf|libfmt|libboost_program_options|libstdc\+\+|libm|libgcc_s|libc|ld-linux-x86-64|libz|libpng16'
unexpected=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | grep -Ev "^($expected)[.-]" || true)
[ -z "$unexpected" ] || fail "belay needs $unexpected"
! grep -Eq '(RPATH|RUNPATH)' <<<"$dynamic" || fail "belay has a library path of the machine that built it"
for plugin in "$prefix"/lib/*/belay/plugins/*.so "$prefix"/lib/belay/plugins/*.so; do
  [ -e "$plugin" ] || continue
  ! readelf -d "$plugin" | grep -Fq "$build" || fail "$plugin names the build tree"
done

step "the installed program finds the installed plugins"
"$belay" plugins >"$here/plugins.txt"
for name in mlp digits safetensors warm_start checkpoint_saver; do
  grep -q " $name " "$here/plugins.txt" || fail "belay plugins does not list $name"
done
! grep -q '^rejected' "$here/plugins.txt" || { cat "$here/plugins.txt"; fail "an installed plugin is refused"; }
for library in "$(dirname "$(find "$prefix" -name mlp.so)")"/*.so; do
  name=$(basename "$library" .so)  # of an exporter, where a saver has its name: safetensors_exporter
  [ "${name#mpi_}" = "$name" ] || name=mpi  # one source, a plugin for each MPI
  [ -d "$(echo "$source"/plugins/*/"$name")" ] || [ -d "$source/plugins/exporters/${name%_exporter}" ] || fail "$library is installed and is no plugin of ours"
done

step "a hook by one command line"
mkdir "$here/hook"
cat >"$here/hook/my.cc" <<'CODE'
#include <belay/plugin.h>

class LossCeiling final : public belay::Hook {
 public:
  struct Options { double max = 10; belay::Str tensor = "loss"; };
  static constexpr auto about = belay::about("loss_ceiling", "Stops the run when a tensor rises above a limit",
      belay::option("max", &Options::max, "stop above this").range(0, 1e30),
      belay::option("tensor", &Options::tensor, "scalar to watch"));
  explicit LossCeiling(const Options& o) : o_(o) {}
  void begin(belay::Graph& g) override { loss_ = g.fetch<float>(o_.tensor); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  void after_run(belay::RunContext& run, const belay::RunValues& v) override {
    if (v[loss_] > o_.max) run.request_stop("loss above max");
  }
 private:
  Options o_;
  belay::Fetch<float> loss_;
};
BELAY_MODULE("1.0.0", LossCeiling)
CODE
pkgconfig=$(dirname "$(find "$prefix" -name belay-sdk.pc)")
(
  cd "$here/hook"
  export PKG_CONFIG_PATH=$pkgconfig
  # shellcheck disable=SC2046
  g++ -std=c++17 -shared -fPIC my.cc $(pkg-config --cflags belay-sdk) -o my.so
)
"$belay" validate "$here/hook/my.so" >"$here/hook/validated" || { cat "$here/hook/validated"; fail "T-22e: belay validate of what the one line made"; }
cat >"$here/hook/train.toml" <<'TOML'
[run]
dir = "run"
max_steps = 20
[input.train]
plugin = "digits"
examples = 256
[model]
plugin = "linear"
classes = 10
[optimizer]
name = "sgd"
learning_rate = 0.01
[[hooks]]
file = "./my.so"
max = 0.5
TOML
"$belay" run "$here/hook/train.toml" 2>"$here/hook/log" || { cat "$here/hook/log"; fail "belay run with the hook"; }
grep -q 'ended at step 1 .*loss_ceiling: loss above max' "$here/hook/log" || { cat "$here/hook/log"; fail "the hook did not stop the run"; }

configure_and_build() {  # source build
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" >"$2.log" 2>&1 &&
    cmake --build "$2" >>"$2.log" 2>&1 || { cat "$2.log"; fail "building $1"; }
}

step "belay new: a hook builds with CMake, passes its test twice and runs"
mkdir "$here/new"
one_kind() {  # kind name
  (
    cd "$here/new"
    "$belay" new "$1" "$2" >/dev/null
    cd "$2"
    configure_and_build . build
    ctest --test-dir build --output-on-failure >ctest.log || { cat ctest.log; fail "the test of a new $1"; }
    grep -q 'tests passed, 0 tests failed out of 2' ctest.log || { cat ctest.log; fail "a new $1 has not two tests"; }
    "$belay" run "$2.toml" 2>log || { cat log; fail "belay run with a new $1"; }
    grep -q 'ended at step 200 ' log || { cat log; fail "the run with a new $1 ended early"; }
  )
}
one_kind hook ceiling || fail "hook"

step "a newcomer's first training: docs/guide/run-a-training.md, every command as written"
mkdir "$here/first"
(
  export PATH=$prefix/bin:$PATH
  "$source/tests/install/run_page.py" "$prefix/share/doc/belay/docs/guide/run-a-training.md" "$here/first"
) || fail "docs/guide/run-a-training.md does not say what happens"

step "examples/embed"
configure_and_build "$source/examples/embed" "$here/embed_build"
"$here/embed_build/embed" "$here/embed_run" >"$here/embed.log" 2>&1 || { cat "$here/embed.log"; fail "embed"; }
"$here/embed_build/embed" "$here/embed_run" >"$here/embed.log" 2>&1 || { cat "$here/embed.log"; fail "embed, again"; }
grep -q "restored step 200" "$here/embed.log" || { cat "$here/embed.log"; fail "embed does not go on where it stopped"; }
[ -d "$here/embed_run/model.ckpt-400" ] || fail "embed has no checkpoint of step 400"

if [ "$part" != long ]; then
  step "all of it holds"
  exit 0
fi

step "belay new: so does every other kind"
one_kind saver flat-file & saver=$!
one_kind init_fn fill & init_fn=$!
wait $saver $init_fn || fail "saver or init_fn"
one_kind model two_layers & model=$!
one_kind input plane & input=$!
wait $model $input || fail "model or input"
one_kind op soft-step & op=$!
one_kind optimizer sum-of-steps & optimizer=$!
wait $op $optimizer || fail "op or optimizer"
one_kind schedule half_life & schedule=$!
one_kind exporter node_list & exporter=$!
wait $schedule $exporter || fail "schedule or exporter"
one_kind cluster fast-lane || fail "cluster"
[ -f "$here/new/flat-file/runs/flat-file/model.ckpt-200/variables.bin" ] || fail "the new saver wrote nothing"

step "a newcomer's path: docs/guide/write-a-hook.md, every command as written"
(
  export PATH=$prefix/bin:$PATH
  "$source/tests/install/run_page.py" "$prefix/share/doc/belay/docs/guide/write-a-hook.md" "$HOME"
) || fail "docs/guide/write-a-hook.md does not tell what happens"

step "headers: the SDK, what programs include, and nothing else of the runtime"
"$source/tests/install/headers.py" "$prefix/include" "$source" || fail "the installed headers"

step "examples/manifest"
configure_and_build "$source/examples/manifest" "$here/manifest_build"
manifest() { "$here/manifest_build/manifest" "$here/hook/train.toml" run.dir="$here/manifest_run" hooks=[] "$@" >"$here/manifest.log" 2>&1; }
for steps in 30 60; do
  manifest run.max_steps=$steps || { cat "$here/manifest.log"; fail "manifest"; }
  grep -q "^status 0 at step $steps: stop_at_step" "$here/manifest.log" || { cat "$here/manifest.log"; fail "manifest at step $steps"; }
  [ -d "$here/manifest_run/model.ckpt-$steps" ] || fail "manifest has no checkpoint of step $steps"
done
grep -q "restored step 30" "$here/manifest.log" || { cat "$here/manifest.log"; fail "manifest does not go on where it stopped"; }
manifest run.max_stps=30 && fail "manifest takes a key that is not there"
grep -q 'did you mean "max_steps"' "$here/manifest.log" || { cat "$here/manifest.log"; fail "manifest does not say what is wrong"; }

step "examples/replay: steps of that run again, with a hook of the program's"
configure_and_build "$source/examples/replay" "$here/replay_build"
"$here/replay_build/replay" "$here/manifest_run" 35 36 "$here/why" >"$here/replay.log" 2>"$here/replay.err" ||
  { cat "$here/replay.log" "$here/replay.err"; fail "replay"; }
grep -q '^0 differing bits at step 60: model.ckpt-60 is what this came to$' "$here/replay.log" ||
  { cat "$here/replay.log"; fail "replay proves nothing"; }
[ "$(grep -c '^loss of step 3[56]: ' "$here/replay.log")" = 2 ] || { cat "$here/replay.log"; fail "replay has not the losses"; }
[ -f "$here/why/step-35.npz" ] && [ -f "$here/why/step-36.npz" ] || fail "replay has not the batches"

step "examples/estimator: each mode"
configure_and_build "$source/examples/estimator" "$here/estimator_build"
estimator() { "$here/estimator_build/estimator" "$@" >"$here/estimator.log" 2>"$here/estimator.err" || { cat "$here/estimator.err"; fail "estimator $1"; }; }
for start in 200 400; do
  estimator train "$here/estimator_run"
  estimator evaluate "$here/estimator_run"
  grep -q "^accuracy = 0\.9.*, global_step = $start, " "$here/estimator.log" ||
    { cat "$here/estimator.log"; fail "estimator has not learned by step $start"; }
  estimator predict "$here/estimator_run"
  printf 'inside\ninside\ninside\noutside\noutside\noutside\n' | diff - "$here/estimator.log" ||
    fail "estimator predicts something else"
done
estimator export "$here/estimator_run"
[ -f "$(cat "$here/estimator.log")/model.onnx" ] || { cat "$here/estimator.log"; fail "estimator exports nothing"; }
for start in first second; do  # the second one has nothing left to train
  estimator train_and_evaluate "$here/tae_run"
  grep -q "^accuracy = [01]\.*9*.*, global_step = 400, " "$here/estimator.log" ||
    { cat "$here/estimator.log"; fail "train_and_evaluate prints no metrics of step 400 the $start time"; }
done
for file in best/*/model.safetensors onnx/*/model.onnx; do
  compgen -G "$here/tae_run/export/$file" >"$here/exports.log" || fail "train_and_evaluate has exported no $file"
done
estimator continuous_eval "$here/tae_run"  # of a training that has come to its end
grep -q "global_step = 400, " "$here/estimator.log" || { cat "$here/estimator.log"; fail "continuous_eval"; }

step "T-125: an Estimator takes plugins of the installed files, as docs/guide/estimator.md writes it"
mkdir "$here/files" "$here/files/run_here"
page=$prefix/share/doc/belay/docs/guide/estimator.md
block() { awk -v wanted="$1" '/^```/ { on = !on && $0 == "```c++" && ++n == wanted; if (!on && inside) exit; inside = on; next } on' "$page"; }
call=$(grep -o 'input_plugin("csv", [^`]*' "$page" | head -1)
{
  printf '#include <belay/default_plugins.h>\n#include <belay/runtime/estimator.h>\n#include <cstdio>\n#include <stdexcept>\n'
  block 1
  printf 'void train(const std::string& folder, const std::string& path, bool as_file) {\n'
  block 2
  printf '  estimator.train(as_file ? belay::input_plugin("csv", {{"file", path}}) : belay::%s, {.steps = 5});\n}\n' "$call"
  printf 'int main(int, char** argv) try {\n  train(argv[1], argv[2], argv[3] != nullptr);\n} '
  printf 'catch (const std::exception& e) {\n  std::printf("%%s\\n", e.what());\n  return 1;\n}\n'
} >"$here/files/estimator.cc"
cp "$source/examples/estimator/CMakeLists.txt" "$here/files"
configure_and_build "$here/files" "$here/files_build"
awk 'BEGIN { print "a,b,label"; for (i = 0; i < 64; ++i) print i % 7 "," i % 5 "," i % 2 }' >"$here/files/rows.csv"
folder=$(dirname "$(find "$prefix" -name csv.so)")
from_files() { (cd "$here/files/run_here" && "$here/files_build/estimator" "$folder" "$here/files/rows.csv" "$@") >"$here/files.log" 2>"$here/files.err"; }
from_files || { cat "$here/files.log" "$here/files.err"; fail "the program of the page"; }
[ -d "$here/files/run_here/run/model.ckpt-5" ] || fail "the program of the page has no checkpoint of step 5"
from_files as_file && fail "the input csv takes a file"
grep -q 'what input "csv" reads is given by "path"' "$here/files.log" || { cat "$here/files.log"; fail "the error does not say what to do"; }

step "all of it holds"
