// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/coordinator.h"

#include <utility>

#include "runtime/platform/threads/clock.h"
#include "runtime/platform/threads/looper_thread.h"
#include "runtime/session/session_service.h"

namespace belay {

OwnedCoordinator::OwnedCoordinator(std::vector<Code> clean_stop_codes)
    : OwnedCoordinator(std::make_unique<Insides>(
          Insides{std::make_shared<runtime::Coordinator>(runtime::system_clock(), std::move(clean_stop_codes))})) {}

OwnedCoordinator::OwnedCoordinator(std::unique_ptr<Insides> insides)
    : Coordinator(runtime::coordinator_service(), runtime::to_handle(insides->coordinator.get())),
      insides_(std::move(insides)) {}

OwnedCoordinator::~OwnedCoordinator() = default;

void OwnedCoordinator::start_thread(const std::string& name, std::function<void()> body) {
  insides_->coordinator->start_thread(name, std::move(body));
}

void OwnedCoordinator::loop(double interval_secs, std::function<void()> f, const std::string& name) {
  runtime::LooperThread::start(*insides_->coordinator, interval_secs, {.run_loop = std::move(f)}, name);
}

void OwnedCoordinator::stop_on_exception(const std::function<void()>& f) {
  insides_->coordinator->stop_on_exception(f);
}

std::vector<std::string> OwnedCoordinator::join(const JoinOptions& options) {
  return insides_->coordinator->join({}, {options.stop_grace_period_secs, options.ignore_live_threads});
}

std::string OwnedCoordinator::stop_reason() const { return insides_->coordinator->stop_reason(); }

std::optional<Error> OwnedCoordinator::requested_exception() const {
  return insides_->coordinator->requested_exception();
}

void OwnedCoordinator::clear_stop() { insides_->coordinator->clear_stop(); }

}  // namespace belay
