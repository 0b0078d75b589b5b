// SPDX-License-Identifier: Apache-2.0
// What a driver's fake host is like, where a test wants it otherwise:
//
//   HookDriver hook(belay_module_progress, {{"max_steps", 100}}, {.interactive = true});      // C++20
#pragma once

#include <string>
#include <vector>

namespace belay {
inline namespace v0 {
namespace testing {

struct DriverSetup {
  std::string plugin = {};  // which one, where the module has several of the kind
  std::string instance_name = "under_test";
  std::string run_directory = "/runs/under_test";  // empty: the run keeps nothing
  bool interactive = false;                        // somebody watches a terminal
  std::vector<std::string> without = {};           // services that this host does not have: "events", ...
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
