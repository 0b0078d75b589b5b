// SPDX-License-Identifier: Apache-2.0
// A session for a scaffold's operations, and the names that a ready operation returns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/monitored/saving/scaffold.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {

using Names = std::vector<std::string>;

class ScaffoldTest : public MonitoredTest {
 protected:
  DirectSession& open() {
    session_ = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
    return *session_;
  }
  // The result of a ready operation.
  Names names(const Output& ready) {
    const RunResult result = session_->handle().run({ready});
    Names out;
    for (std::size_t i = 0; i < result[0].size(); ++i) out.emplace_back(result[0].text(i));
    return out;
  }
  void run(const Output& operation) { session_->handle().run({operation}); }

 private:
  std::shared_ptr<DirectSession> session_;
};

}  // namespace belay::runtime::testing
