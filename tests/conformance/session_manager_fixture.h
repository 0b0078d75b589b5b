// SPDX-License-Identifier: Apache-2.0
// For section 26: a graph with two saved variables and a local one, and checkpoints of it.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/monitored/saving/session_manager.h"
#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {

// Two saved variables and a local one, and the operations of a default scaffold.
class SessionManagerConformance : public SaverTest {
 protected:
  SessionManagerConformance() {
    weight = ops::variable(g, "weight", Tensor(1.0f));
    step = ops::create_global_step(g);
    seen = ops::variable(g, "seen", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
    init = ops::group(g, g.collection("variable_init"), "init");
    local_init = ops::group(g, g.collection("local_variable_init"), "local_init");
    all_ready = ops::report_uninitialized_variables(g, {weight, step, seen}, "all_ready");
    globals_ready = ops::report_uninitialized_variables(g, {weight, step}, "globals_ready");
  }
  SessionManager manager() {
    graph.finalize();
    return SessionManager(graph, environment, options);
  }
  // With all that a default scaffold has.
  SessionManager full_manager() {
    options.local_init_op = local_init;
    options.ready_op = all_ready;
    options.ready_for_local_init_op = globals_ready;
    return manager();
  }
  template <class T>
  T value(const CreatedSession& created, const Output& output) {
    return created.session->handle().run({output})[0].scalar<T>();
  }
  // A checkpoint of the run, with this weight at this step.
  std::string save(float w, std::int64_t at_step) {
    const std::shared_ptr<RunSaver> saver = make_saver();
    const std::shared_ptr<DirectSession> session = open_session();
    session->store().assign("weight", Tensor(w));
    session->store().assign("global_step", Tensor(at_step));
    saver->request();
    saver->at_boundary(*session, hooks);
    return saver->saved_path();
  }

  static Tensor names(const std::vector<std::string>& texts) {
    Tensor t(DType::kString, {static_cast<std::int64_t>(texts.size())});
    for (std::size_t i = 0; i < texts.size(); ++i) t.set_text(i, texts[i]);
    return t;
  }
  // As PrepareArgs takes them: 5 for "weight", and none of the others; `asked` gets the names.
  InitialValues five_for_weight(std::vector<std::string>& asked) {
    return [&asked](const std::string& name, const belay_tensor& value) {
      asked.push_back(name);
      if (name != "weight") return false;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value.data) % 64, 0u);
      EXPECT_EQ(TensorView(value).scalar<float>(), 0.0f);
      *static_cast<float*>(value.data) = 5.0f;
      return true;
    };
  }
  // A checkpoint of step 7 of a model that has the global step and these variables, and no "weight".
  void save_of_smaller_graph(const std::vector<std::pair<std::string, Tensor>>& variables = {}) {
    NodeGraph smaller(*ops);
    const belay::Graph h = smaller.handle();
    ops::create_global_step(h);
    for (const auto& [name, value] : variables) {
      const std::size_t slash = name.find('/');
      if (slash == std::string::npos) {
        ops::variable(h, name, value);
      } else {
        const auto scope = h.scope(name.substr(0, slash));
        ops::variable(h, name.substr(slash + 1), value);
      }
    }
    smaller.finalize();
    const auto session =
        std::make_shared<DirectSession>(smaller, std::make_shared<VariableStore>(), environment.session);
    session->run_once(smaller.collection("variable_init"));
    session->store().assign("global_step", Tensor(std::int64_t{7}));
    const std::shared_ptr<RunSaver> saver = make_saver();
    saver->request();
    saver->at_boundary(*session, hooks);
  }

  Output weight, step, seen, init, local_init, all_ready, globals_ready;
  SessionManagerOptions options;
  PrepareArgs args;
};

}  // namespace belay::runtime::testing
