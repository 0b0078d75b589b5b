// SPDX-License-Identifier: Apache-2.0
// A recoverable session of scripted layers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/monitored/layers/recoverable_session.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/monitored/scripted_layer.h"

namespace belay::runtime::testing {

// Sessions that run as scripted; every creation, run, close, recovery and pause is noted.
class RecoverableSessionTest : public ::testing::Test {
 protected:
  // Number n is the session that is made n-th, from 1.
  using At = std::function<void(int n)>;

  RecoverableSession make(const SessionSettings& settings = {}) {
    return RecoverableSession([this] { return create(); }, settings,
                              [this](double seconds) { pauses.push_back(seconds); },
                              [this](const Error& e, std::int64_t n) {
                                recoveries.push_back(std::to_string(n) + " " + code_name(e.code()) + ": " + e.what());
                              });
  }
  std::unique_ptr<SessionLayer> create() {
    const int n = ++created;
    events.push_back("create " + std::to_string(n));
    if (at_create) at_create(n);
    ScriptedLayer::Script script;
    script.run = [this, n] {
      events.push_back("run " + std::to_string(n));
      if (at_run) at_run(n);
    };
    script.should_stop = [this, n] {
      if (at_should_stop) at_should_stop(n);
      return stop;
    };
    script.close = [this, n] {
      events.push_back("close " + std::to_string(n));
      if (at_close) at_close(n);
    };
    return std::make_unique<ScriptedLayer>(script);
  }
  // Fails at the sessions up to the n-th.
  static At failing_until(int last, Code code, const std::string& text) {
    return [=](int n) {
      if (n <= last) fail(code, text);
    };
  }

  int created = 0;
  At at_create, at_run, at_should_stop, at_close;
  bool stop = false;
  Timeline events;
  std::vector<double> pauses;
  std::vector<std::string> recoveries;
};

}  // namespace belay::runtime::testing
