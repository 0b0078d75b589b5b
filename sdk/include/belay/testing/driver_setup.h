// SPDX-License-Identifier: Apache-2.0
// Settings of a driver's fake host, for a test that needs other values:
//
//   HookDriver hook(belay_module_progress, {{"max_steps", 100}}, {.interactive = true});      // C++20
#pragma once

#include <string>
#include <vector>

namespace belay {
inline namespace v0 {
namespace testing {

struct DriverSetup {
  std::string plugin = {};  // name of the plugin, if the module has several of the kind
  std::string instance_name = "under_test";
  std::string run_directory = "/runs/under_test";  // empty: the run has no directory
  bool interactive = false;                        // a person watches a terminal
  std::vector<std::string> without = {};           // services that this host lacks: "events", ...
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
