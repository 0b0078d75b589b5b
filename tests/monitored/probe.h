// SPDX-License-Identifier: Apache-2.0
// A hook that records its calls, and does in each callback what the test asks for.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "belay/hook.h"

namespace belay::runtime::testing {

// "a.begin", "b.begin", "a.after_create_session", ...: shared by the hooks of a test.
using Timeline = std::vector<std::string>;

class Probe final : public Hook {
 public:
  Probe(std::string name, Timeline& timeline) : name_(std::move(name)), timeline_(timeline) {}

  // A callback does this after its entry in the timeline; by the callback's name.
  std::map<std::string, std::function<void()>> in;
  // before_run asks for these, and after_run looks at them.
  std::function<RunArgs(RunContext&)> ask;
  std::function<void(RunContext&, const RunValues&)> look;
  // For the callbacks that get a session.
  std::function<void(Session&)> in_session;
  bool stop_after_save = false;
  std::int64_t state = 0;
  std::string error;       // that on_error got
  std::string saved_path;  // that after_save got

  void begin(Graph&) override { called("begin"); }
  void after_create_session(Session& session) override {
    called("after_create_session");
    if (in_session) in_session(session);
  }
  RunArgs before_run(RunContext& run) override {
    called("before_run");
    return ask ? ask(run) : RunArgs();
  }
  void after_run(RunContext& run, const RunValues& values) override {
    called("after_run");
    if (look) look(run, values);
  }
  void end(Session& session) override {
    called("end");
    if (in_session) in_session(session);
  }
  void before_save(Session&, std::int64_t step) override { called("before_save", " " + std::to_string(step)); }
  bool after_save(Session&, const Saved& saved) override {
    called("after_save", " " + std::to_string(saved.step));
    saved_path = std::string(saved.path);
    return stop_after_save;
  }
  void on_error(const Error& e) override {
    error = std::string(code_name(e.code())) + ": " + e.what();
    called("on_error");
  }
  void save_state(StateWriter& to) const override {
    if (state != 0) to.put("state", state);
  }
  void load_state(const StateReader& from) override {
    state = from.integer("state", -1);
    called("load_state");
  }

 private:
  void called(const std::string& callback, const std::string& with = {}) {
    timeline_.push_back(name_ + "." + callback + with);
    const auto it = in.find(callback);
    if (it != in.end()) it->second();
  }

  std::string name_;
  Timeline& timeline_;
};

}  // namespace belay::runtime::testing
