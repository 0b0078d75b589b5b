// SPDX-License-Identifier: Apache-2.0
// A graph with one variable and a global step, and a hook that uses the service "checkpoint".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "belay/checkpoint.h"
#include "runtime/monitored/saving/run_saver.h"
#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {

// Asks for a checkpoint as a plugin does, and reads one.
class Asking final : public Hook {
 public:
  void ask() { save_checkpoint(host()); }
  std::string latest(const std::string& directory) { return latest_checkpoint(host(), directory); }
  Checkpoint open(const std::string& path) { return Checkpoint(host(), path); }
};

class Savers : public SaverTest {
 protected:
  Savers() {
    weight = ops::variable(g, "weight", Tensor(1.0f));
    ops::create_global_step(g);
    graph.finalize();
    session = open_session();
    set(1.0f, 0);
  }
  void set(float w, std::int64_t step) {
    session->store().assign("weight", Tensor(w));
    session->store().assign("global_step", Tensor(step));
  }
  void save(RunSaver& saver, float w, std::int64_t step) {
    set(w, step);
    saver.request();
    saver.at_boundary(*session, hooks);
  }
  float weight_of(DirectSession& s) { return s.handle().run({weight})[0].scalar<float>(); }

  Output weight;
  std::shared_ptr<DirectSession> session;
};

}  // namespace belay::runtime::testing
