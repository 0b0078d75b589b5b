// SPDX-License-Identifier: Apache-2.0
// A training of examples/digits.toml, bare or with the default hooks of `belay run`, to count the instructions of:
// bench/hooks.py.
//
//   bench_hooks bare|hooked STEPS BATCH_SIZE
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "plugins/default_plugins.h"
#include "tests/session/linked_run.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::bench {
namespace {

using namespace runtime;

// The hooks are stop_at_step, step_counter, summary_saver, checkpoint_saver, nan_tensor, json_lines and progress.
void run(bool hooked, int steps, const std::string& batch) {
  const std::string manifest =
      "[run]\nmax_steps = 3000\nthreads = 1\n"
      "[input.train]\nplugin = \"digits\"\nsplit = \"train\"\nshuffle = true\nbatch_size = " +
      batch +
      "\n"
      "[model]\nplugin = \"mlp\"\nhidden = [256]\n"
      "[optimizer]\nname = \"adam\"\nlearning_rate = 0.001\n";
  std::vector<const belay_module*> modules = default_plugins();
  modules.insert(modules.end(), {&belay_module_digits, &belay_module_mlp});
  runtime::testing::LinkedRun run(manifest, modules);
  if (hooked) run.add_hooks_of_manifest();
  runtime::MonitoredSession& session = run.start();
  session.scope([&] {
    const std::shared_ptr<DirectSession> raw = session.raw_session();
    FetchSet train_op(std::vector<FetchRef>{run.model().train_op});
    RunRequest request;
    request.fetches = &train_op;
    request.full_team = true;
    for (int i = 0; i < steps; ++i) {
      if (hooked)
        session.run(run.train_call());
      else
        raw->run(request);
    }
  });
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[1] : "";
  if (kind != "bare" && kind != "hooked") {
    std::cerr << "bench_hooks bare|hooked STEPS BATCH_SIZE\n";
    return 2;
  }
  belay::bench::run(kind == "hooked", std::atoi(argv[2]), argv[3]);
  return 0;
}
