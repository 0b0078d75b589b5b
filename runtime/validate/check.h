// SPDX-License-Identifier: Apache-2.0
// What `belay validate` asks of a plugin, one question a check. Checks are in lists, one per kind of plugin and one
// that every kind shares; validate.h runs them, each in a process of its own.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "belay/abi.h"
#include "belay/error.h"
#include "belay/testing/driver_setup.h"
#include "belay/testing/option_values.h"
#include "runtime/loader/note.h"
#include "runtime/validate/synthetic.h"

namespace belay::runtime {

// A plugin of a library that is loaded.
struct Subject {
  const belay_module& module;
  PluginInfo info;
  ChosenOptions chosen;
  bool options_are_given = false;  // some of them, by the user
  std::uint64_t seed = 0;          // of everything random

  const belay::testing::OptionValues& options() const { return chosen.values; }
};

// A host for its driver, with every service.
belay::testing::DriverSetup setup_of(const Subject& subject);

// A check returns if the plugin does what is asked, and throws one of these if it does not, or if that cannot be
// found out. Anything else that comes out of a check was thrown by the plugin past its own boundary.
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class CheckSkipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// The plugin passes; the text says what would be better.
class CheckRemark : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The plugin cannot be tried: no synthetic values fit its required options.
class OptionsNeeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Check {
  const char* name;  // "drive.life"
  void (*run)(const Subject&);
};

std::vector<Check> instance_checks();  // of every kind; the first says whether it can be created at all
std::vector<Check> option_checks();    // of every kind but ops, whose options are their nodes'
std::vector<Check> hook_checks();
std::vector<Check> saver_checks();
std::vector<Check> init_fn_checks();
std::vector<Check> model_checks();
std::vector<Check> input_checks();
std::vector<Check> op_checks();
// For a plugin whose options are beside keys of the host's in `section`: checks that each can be set.
void options_can_be_given(const Subject& subject, const std::string& section);
std::vector<Check> optimizer_checks();
std::vector<Check> schedule_checks();
std::vector<Check> exporter_checks();
std::vector<Check> cluster_checks();

// "NOT_FOUND: the graph has no 'x'"
std::string text_of(const Error& error);

// An error of the plugin must have a code of the list and a message. `where`: "begin", "create with max = 3".
void require_explained(const std::string& where, const Error& error);

// Runs f; an error that is explained is all right.
template <class F>
void may_refuse(const std::string& where, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    require_explained(where, e);
  }
}

// Runs f, which must end with an explained error.
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

// Runs f, which must not end with an error.
template <class F>
void must_succeed(const std::string& where, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    require_explained(where, e);
    throw CheckFailed(where + " failed: " + text_of(e));
  }
}

// As must_succeed; but if the plugin does not find what it needs among the synthetic things, the check is skipped.
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
