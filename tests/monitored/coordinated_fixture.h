// SPDX-License-Identifier: Apache-2.0
// A coordinated session round a scripted layer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/monitored/layers/coordinated_session.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/monitored/scripted_layer.h"

namespace belay::runtime::testing {

class CoordinatedSessionTest : public MonitoredTest {
 protected:
  CoordinatedSession make(double stop_grace_period_secs = 120) {
    ScriptedLayer::Script script;
    script.run = [this] {
      ++runs;
      if (at_run) at_run();
    };
    script.should_stop = [this] { return inner_stop; };
    script.close = [this] {
      ++closes;
      if (at_close) at_close();
    };
    return CoordinatedSession(std::make_unique<ScriptedLayer>(script), coordinator, stop_grace_period_secs, *log,
                              &unjoined);
  }

  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(clock, std::vector<Code>{});
  std::function<void()> at_run, at_close;
  bool inner_stop = false;
  int runs = 0;
  int closes = 0;
  std::vector<std::string> unjoined;
};

}  // namespace belay::runtime::testing
