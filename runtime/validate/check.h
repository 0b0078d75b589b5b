// SPDX-License-Identifier: Apache-2.0
// The questions of `belay validate` to a plugin, one for each check. Each kind of plugin has a list of checks, and one
// list is for all kinds. validate.h runs each check in a separate process.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "belay/abi.h"
#include "belay/error.h"
#include "belay/testing/driver_setup.h"
#include "belay/testing/option_values.h"
#include "runtime/loader/note/note.h"
#include "runtime/validate/synthetic.h"

namespace belay::runtime {

// A plugin of a loaded library.
struct Subject {
  const belay_module& module;
  PluginInfo info;
  ChosenOptions chosen;
  bool options_are_given = false;  // true: the user has set some of them
  std::uint64_t seed = 0;          // for everything random

  const belay::testing::OptionValues& options() const { return chosen.values; }
};

// Returns a host with every service for its driver.
belay::testing::DriverSetup setup_of(const Subject& subject);

// A check returns if the plugin passes. It throws one of these if the plugin fails, or if the check cannot decide it.
// The plugin threw any other exception past its boundary.
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class CheckSkipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// The plugin passes; the text is an advice.
class CheckRemark : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The plugin cannot be tried, since no synthetic values fit its required options.
class OptionsNeeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Check {
  const char* name;  // "drive.life"
  void (*run)(const Subject&);
};

std::vector<Check> instance_checks();  // for every kind; the first finds out whether it can be created at all
std::vector<Check> option_checks();    // for every kind but ops, which have their nodes' options
std::vector<Check> hook_checks();
std::vector<Check> saver_checks();
std::vector<Check> init_fn_checks();
std::vector<Check> model_checks();
std::vector<Check> input_checks();
std::vector<Check> op_checks();
// For a plugin whose options are beside keys of the host in `section`: checks that each can be set.
void options_can_be_given(const Subject& subject, const std::string& section);
std::vector<Check> optimizer_checks();
std::vector<Check> schedule_checks();
std::vector<Check> exporter_checks();
std::vector<Check> cluster_checks();

// Returns "NOT_FOUND: the graph has no 'x'".
std::string text_of(const Error& error);

// Checks that an error of the plugin has a code of the list and a message. `where`: "begin", "create with max = 3".
void require_explained(const std::string& where, const Error& error);

// Runs f. It may end with an explained error.
template <class F>
void may_refuse(const std::string& where, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    require_explained(where, e);
  }
}

// Runs f. It must end with an explained error.
template <class F>
void must_refuse(const std::string& where, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    require_explained(where, e);
    return;
  }
  throw CheckFailed(where + " was not refused");
}

// Runs f. It must not end with an error.
template <class F>
void must_succeed(const std::string& where, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    require_explained(where, e);
    throw CheckFailed(where + " failed: " + text_of(e));
  }
}

// Works like must_succeed. But if the plugin misses something among the synthetic things, the check is skipped.
template <class F>
void needs(const std::string& where, const std::string& synthetic_things, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    require_explained(where, e);
    if (e.code() != Code::kNotFound && e.code() != Code::kInvalidArgument && e.code() != Code::kFailedPrecondition &&
        e.code() != Code::kUnimplemented)
      throw CheckFailed(where + " failed: " + text_of(e));
    throw CheckSkipped(where + " does not find what it needs in " + synthetic_things + ": " + text_of(e) +
                       "; give its options with --set");
  }
}

}  // namespace belay::runtime
