// SPDX-License-Identifier: Apache-2.0
// Runs an init function without an engine, on variables and checkpoints of the test.
//
//   InitFnDriver init(belay_module_warm_start, {{"from", "runs/a/model.ckpt-100"}});   // an existing file
//   init.variable("dense/w", Tensor({2}, {0.f, 0.f}));
//   init.checkpoints().add("runs/a/model.ckpt-100", {{"dense/w", Tensor({2}, {1.f, 2.f})}});
//   init.run();
//   EXPECT_EQ(init.text_of("dense/w"), "[1, 2]");
//
// The driver throws an exception of the init function unchanged, as belay::Error. A violation of the contract is
// FAILED_PRECONDITION.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/testing/driver_setup.h"
#include "belay/testing/fake_checkpoints.h"
#include "belay/testing/fake_session.h"
#include "belay/testing/plugin_library.h"

namespace belay {
inline namespace v0 {
namespace testing {

class InitFnDriver {
 public:
  explicit InitFnDriver(const belay_module& module, const OptionValues& options = {}, const DriverSetup& setup = {})
      : InitFnDriver(find_table<belay_init_fn_api>(module, setup.plugin), options, setup) {}
  explicit InitFnDriver(const belay_init_fn_api* table, const OptionValues& options = {}, const DriverSetup& setup = {})
      : host_(setup.instance_name),
        graph_(host_),
        session_(host_, graph_),
        checkpoints_(host_),
        api_(detail::adopt(table)) {
    host_.run_directory = setup.run_directory;
    host_.interactive = setup.interactive;
    for (const std::string& service : setup.without) host_.remove_service(service);
    handle_ = options.create(host_, &api_);
    if (!handle_) fail(Code::kFailedPrecondition, "create succeeded but gave no instance");
  }
  InitFnDriver(const InitFnDriver&) = delete;
  InitFnDriver& operator=(const InitFnDriver&) = delete;

  FakeHost& host() noexcept { return host_; }
  FakeGraph& graph() noexcept { return graph_; }
  FakeSession& session() noexcept { return session_; }
  FakeCheckpoints& checkpoints() noexcept { return checkpoints_; }
  std::vector<std::string> logged() const { return host_.logged(); }

  // Adds a variable with its initial value, in the session and in the graph's collections.
  void variable(const std::string& name, Tensor initial_value, bool trainable = true) {
    graph_.tensor(name, initial_value.dtype(), initial_value.dims());
    graph_.collect(collections::kGlobalVariables, name);
    if (trainable) graph_.collect(collections::kTrainableVariables, name);
    session_.set_value(name, initial_value);
    session_.variable(name, std::move(initial_value), trainable);
  }
  const Tensor& value(std::string_view name) const { return session_.variable_value(name); }
  // All elements, as "[1, 2]".
  std::string text_of(std::string_view name) const { return tensor_text(value(name), value(name).size()); }

  void run() {
    graph_.finalize();
    const std::size_t breaches_before = host_.breaches().size();
    belay_session* handle = session_.open_handle();
    detail::Status status;
    const std::int32_t code = api_.run(handle_.self(), graph_.raw(), handle, status);
    FakeSession::close_handle(handle);
    status.check(code);
    const std::vector<std::string> breaches = host_.breaches();
    if (breaches.size() > breaches_before) fail(Code::kFailedPrecondition, "run: " + breaches[breaches_before]);
    if (session_.open_results() != 0) fail(Code::kFailedPrecondition, "run did not release a raw run's result");
    if (checkpoints_.open_count() != 0) fail(Code::kFailedPrecondition, "run did not close a checkpoint");
  }

 private:
  FakeHost host_;
  FakeGraph graph_;
  FakeSession session_;
  FakeCheckpoints checkpoints_;
  belay_init_fn_api api_;
  InitFnHandle handle_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
