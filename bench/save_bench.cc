// SPDX-License-Identifier: Apache-2.0
// A save of 1 GiB while training waits: the snapshot of a store, and the checkpoint with the safetensors saver, into a
// folder in memory (BELAY_BENCH_DIR; /dev/shm where it is unset), beside what it costs to copy as much and to write as
// much to a file there.
#include <benchmark/benchmark.h>

#include <cstring>

#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/session/variable_store.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kVariables = 16, kElements = (std::int64_t{1} << 28) / kVariables;

std::string folder() {
  const char* named = std::getenv("BELAY_BENCH_DIR");
  return std::string(named == nullptr ? "/dev/shm" : named) + "/belay_bench_save." + std::to_string(getpid());
}

struct Model {
  Model() {
    for (std::int64_t i = 0; i < kVariables; ++i) {
      Variable& v = store.find_or_create("v" + std::to_string(i), DType::kFloat32, {kElements}, true);
      for (std::int64_t e = 0; e < kElements; ++e) v.value.data<float>()[e] = static_cast<float>(e + i);
      v.initialized = true;
      variables.push_back(&v);
    }
  }
  VariableStore store;
  std::vector<Variable*> variables;
};

CheckpointContent content_of(const Snapshot& snapshot) {
  CheckpointContent content;
  for (std::size_t i = 0; i < snapshot.names.size(); ++i)
    content.variables.push_back({snapshot.names[i], snapshot.values[i].view()});
  content.graph_hash = std::string(64, '0');
  return content;
}

// The first save of a run takes memory for its snapshot, later ones have it.
void save(benchmark::State& state) {
  const bool first = state.range(0) == 1;
  Model model;
  SafetensorsSaver saver;
  RecordingLogger log;
  FileSystem& files = posix_file_system();
  const std::unique_ptr<OpenDirectory> run = files.make_directories(folder());
  Snapshot kept;
  if (!first) model.store.snapshot(model.variables, kept);
  for (auto _ : state) {
    Snapshot fresh;
    Snapshot& snapshot = first ? fresh : kept;
    model.store.snapshot(model.variables, snapshot);
    const std::string name = write_checkpoint(*run, content_of(snapshot), saver.use(), log);
    state.PauseTiming();
    run->remove_tree(name);
    state.ResumeTiming();
  }
  files.open_directory(folder().substr(0, folder().rfind('/')))->remove_tree(folder().substr(folder().rfind('/') + 1));
}
BENCHMARK(save)->ArgName("first")->Arg(1)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

void copy(benchmark::State& state) {
  Model model;
  Snapshot kept;
  model.store.snapshot(model.variables, kept);
  for (auto _ : state) model.store.snapshot(model.variables, kept);
}
BENCHMARK(copy)->UseRealTime()->Unit(benchmark::kMillisecond);

// One write() after the other and a sync, with nothing of ours.
void write_and_sync(benchmark::State& state) {
  Model model;
  const std::unique_ptr<OpenDirectory> run = posix_file_system().make_directories(folder());
  for (auto _ : state) {
    const std::unique_ptr<OpenFile> file = run->create("data");
    for (const Variable* v : model.variables) file->write(v->value.data(), v->value.bytes());
    file->sync();
    file->close();
    state.PauseTiming();
    run->remove("data");
    state.ResumeTiming();
  }
  posix_file_system()
      .open_directory(folder().substr(0, folder().rfind('/')))
      ->remove_tree(folder().substr(folder().rfind('/') + 1));
}
BENCHMARK(write_and_sync)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
