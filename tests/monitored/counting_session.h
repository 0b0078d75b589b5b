// SPDX-License-Identifier: Apache-2.0
// A monitored session on a graph that only counts its steps, with the hooks that a test adds before it opens.
#pragma once

#include <memory>
#include <optional>

#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/session/session_service.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {

class CountingSessionTest : public MonitoredTest {
 protected:
  MonitoredSession& open(MonitoredSessionOptions options = {}) {
    drop();
    options.monitor = &monitor;
    const auto creator = std::make_shared<ChiefSessionCreator>(
        graph, environment, ChiefSessionCreator::Options{.scaffold = std::make_shared<SessionScaffold>(scaffold)});
    session_.emplace(creator, environment, hooks, std::move(options));
    return *session_;
  }
  MonitoredSession& session() { return *session_; }
  void drop() { session_.reset(); }
  // One step; returns the step that it reaches.
  std::int64_t train() { return session().run({train_op})[0].scalar<std::int64_t>(); }
  // The count is of the session that is open now: a recovery makes another.
  Coordinator& coordinator() { return from_handle(session().raw_session()->coordinator); }

  ScaffoldOptions scaffold;
  const Output step = ops::create_global_step(g);
  const Output train_op = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1}), "one"), "train");

 private:
  std::optional<MonitoredSession> session_;
};

}  // namespace belay::runtime::testing
