// SPDX-License-Identifier: Apache-2.0
// A registry with the operations of plugin_op_test.cc in it, and whatever a test adds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "belay/abi.h"
#include "belay/ops/math.h"
#include "runtime/graph/graph_service.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"

extern "C" const belay_module belay_module_v0;  // of this program

namespace belay::runtime::testing {

// Holds the plugins' instances. It outlives the session, whose kernels are theirs.
struct PluginHolder {
  FakeClock clock_;
  RecordingLogger logger_;
  HostServices services_{logger_, clock_, "", 42};
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry plugins_;
  RegisteredPlugin odd_;  // one that a test makes up
  CallMonitor monitor_;
  PluginInstances instances_;
};

class PluginOpTest : protected PluginHolder, public SessionTest {
 protected:
  PluginOpTest() {
    services_.add("graph", graph_service());
    services_.add("op", op_service());
    plugins_.add_linked(&belay_module_v0);
    for (const RegisteredPlugin& p : plugins_.plugins()) add(p);
  }
  void add(const RegisteredPlugin& plugin, const Location& at = {}) {
    ResolvedPlugin use;
    use.instance_name = plugin.info.name;
    use.at = at;
    add_plugin_op(*ops, instances_.create(plugin, use, services_, monitor_));
  }
  // tests/bad_plugins/misbehaving_op.cc
  void add_misbehaving() {
    plugins_.add_loaded(loader_.load(BELAY_BAD_PLUGIN_DIR "/misbehaving_op.so"));
    add(*plugins_.find(PluginKind::kOp, "misbehaving_op"), {"train.toml", 14, 1});
  }
  Output input(const Dims& dims, DType dtype = DType::kFloat32) { return ops::placeholder(g, dtype, dims, "x"); }
  std::vector<float> floats(const Output& o, const std::vector<std::pair<Output, Tensor>>& feeds = {}) {
    return values<float>(o, feeds);
  }
};

using Floats = std::vector<float>;

}  // namespace belay::runtime::testing
