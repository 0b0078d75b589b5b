// SPDX-License-Identifier: Apache-2.0
// A graph, a store and a session on it, for tests: build, then open, then run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/queues.h"
#include "belay/ops/random.h"
#include "belay/ops/variables.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime::testing {

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : ops(make_op_registry()), graph(*ops), g(graph.handle()) {}

  DirectSession& open(DirectSessionOptions options = {}) {
    graph.finalize();
    session_ = std::make_unique<DirectSession>(graph, store, std::move(options));
    return *session_;
  }
  DirectSession& session() { return *session_; }
  // Runs the initializers of all variables.
  void initialize() {
    std::vector<Port> inits = graph.collection("variable_init");
    for (const Port& p : graph.collection("local_variable_init")) inits.push_back(p);
    session().run_once(inits);
  }
  template <class T>
  T value(const Output& o) {
    return session().handle().run({o})[0].scalar<T>();
  }
  template <class T>
  std::vector<T> values(const Output& o, const std::vector<std::pair<Output, Tensor>>& feeds = {}) {
    const RunResult r = session().handle().run({o}, feeds);
    const TensorView t = r[0];
    const T* data = t.data<const T>();
    return std::vector<T>(data, data + t.size());
  }
  void run(const Output& operation) { session().handle().run({operation}); }

  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  belay::Graph g;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();

 private:
  std::unique_ptr<DirectSession> session_;
};

// The message of the error that f throws; "no error" where it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(code_name(e.code())) + ": " + e.what();
  }
  return "no error";
}

}  // namespace belay::runtime::testing
