// SPDX-License-Identifier: Apache-2.0
// A layer whose run and close throw what the test asks for, and fetches of nothing to call it with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/monitored/layers/session_layer.h"

namespace belay::runtime::testing {

class ScriptedLayer final : public SessionLayer {
 public:
  struct Script {
    std::function<void()> run;  // also of a step function
    std::function<bool()> should_stop;
    std::function<void()> close;
  };
  explicit ScriptedLayer(Script script) : SessionLayer(nullptr), script_(std::move(script)) {}

  Run run(const RunCall&) override {
    if (script_.run) script_.run();
    return Run(nullptr, nullptr);
  }
  std::any run_step_fn(const StepFn&) override {
    if (script_.run) script_.run();
    return std::string("result");
  }
  void close() override {
    if (script_.close) script_.close();
  }

 protected:
  bool check_stop() override { return script_.should_stop && script_.should_stop(); }

 private:
  Script script_;
};

}  // namespace belay::runtime::testing
