// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/steps/replay_guard.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/monitored/saving/restored_checkpoint.h"
#include "runtime/session/direct_session.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

class Guard final : public Hook {
 public:
  Guard(std::shared_ptr<std::uint64_t> writes, std::string hook, bool behind)
      : writes_(std::move(writes)), hook_(std::move(hook)), behind_(behind) {}

  void after_create_session(Session& session) override { look(session, "after_create_session"); }
  RunArgs before_run(RunContext& run) override {
    look(run.session(), "before_run");
    return {};
  }
  void after_run(RunContext& run, const RunValues&) override { look(run.session(), "after_run"); }

 private:
  void look(const Session& session, const char* callback) {
    const std::uint64_t writes = total_of_versions(from_handle(session.raw()));
    if (!behind_)
      *writes_ = writes;
    else if (writes != *writes_)
      fail(Code::kInvalidArgument, "[B5046] the hook \"" + hook_ + "\" wrote to a variable in " + callback +
                                       ", and may only watch; see by --what-if what comes of it");
  }

  const std::shared_ptr<std::uint64_t> writes_;  // of both, as the first one found them
  const std::string hook_;
  const bool behind_;
};

}  // namespace

ReplayGuard guard_around(const std::string& hook) {
  const auto writes = std::make_shared<std::uint64_t>(0);
  const auto make = [&](bool behind) -> PluginInstance::MakeHook {
    return [=](const belay_host_api* api, belay_host* host) {
      return belay::hook(api, host, std::make_unique<Guard>(writes, hook, behind));
    };
  };
  return {make(false), make(true)};
}

}  // namespace belay::runtime
