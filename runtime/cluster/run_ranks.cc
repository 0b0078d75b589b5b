// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/run_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/cluster/rank_wait.h"

namespace belay::runtime {
namespace {

constexpr int kTriesAtEnd = 10;  // for ranks that end and start again while the others end

}  // namespace

RunRanks::RunRanks(Options options, RankControl control, Events events)
    : options_(std::move(options)),
      control_(std::move(control)),
      events_(std::move(events)),
      meeting_(options_, {.stopping = control_.stopping,
                          .over =
                              [this] {
                                events_.over();
                                step_.end();
                              },
                          .met = [this] { met(); },
                          .placed = events_.placed}),
      inputs_(options_.input, options_.seats),
      step_(meeting_, options_.wire, control_),
      agreement_(meeting_, variables_, states_, control_) {}

RunRanks::~RunRanks() {
  if (meeting_.regroups()) close();  // after an error too, so that no rank waits for this one
}

void RunRanks::met() {
  agreement_.met();
  step_.drop();
  files_differ_ = compare_versions(meeting_, versions_);
  // Each rank's input has fitted its own file. The model needs one set of class numbers and scales: the chief's.
  const std::string chiefs = meeting_.group().broadcast(meeting_.chief() ? versions_.schema : "", 0);
  if (chiefs != versions_.schema) {
    events_.take_schema(chiefs);
    versions_.schema = chiefs;
  }
  events_.met();
}

void RunRanks::regroup() {
  ++in_a_row_;
  const RankWait waiting(control_.waits);
  try {
    meeting_.regroup();
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    if (give_up(e)) return;
    if (is_preemption(e.code())) throw;
    // A process alone makes no step. It ends as a run does, with a last checkpoint if it is the chief.
    agreement_.end();
    if (e.code() == Code::kCancelled && control_.stopping()) return;
    if (e.code() == Code::kNotFound && meeting_.run_finished()) {
      control_.stop(std::string(e.message()));
      return;
    }
    agreement_.give_up(e);
  }
}

// Returns true, and stops the recoveries, if another one would be one too many. The session is still made, and its end
// saves.
bool RunRanks::give_up(const Error& error) {
  if (in_a_row_ == 0 || in_a_row_ < options_.max_recoveries || !is_preemption(error.code())) return false;
  agreement_.give_up(
      Error(Code::kInternal, fmt::format("[B5086] gave up after {} recoveries in a row: {}", in_a_row_, error.what())));
  return true;
}

void RunRanks::close() noexcept {
  step_.end();
  meeting_.close();
}

// ---- the session ----

void RunRanks::share_states(HookSet& hooks) {
  states_.use(hooks);
  if (!meeting_.chief()) return;
  hooks.add_states_by([this](HookStates& states) {
    // After an error the others may not be able to answer. Then the states of the last time stay.
    if (session_ != nullptr && !step_.under_way() && agreement_.can_ask()) agreement_.ask_for_states();
    states_.add_to(states);
  });
}

void RunRanks::note_states() {
  in_a_row_ = 0;
  if (!meeting_.chief()) states_.note();
}

QueueFactory RunRanks::over(QueueFactory make) {
  return share_queue(std::move(make), options_.queue, {meeting_, agreement_, inputs_, step_, control_});
}

CreatedSession RunRanks::alike(CreatedSession created, bool trained) {
  DirectSession& session = *created.session;
  session_ = &session;
  variables_.use(session);
  if (agreement_.ended()) return created;  // it is alone, because the others did not come
  try {
    share(session, trained);
    states_.share(meeting_, created, trained);
  } catch (const Error& e) {
    if (!give_up(e)) throw;
  }
  return created;
}

void RunRanks::share(DirectSession& session, bool trained) {
  regrouped_.clear();
  const int from = meeting_.regroups() ? newest_rank(session, trained) : 0;
  variables_.take_from(meeting_.group(), from);
  const std::string said = inputs_.share(meeting_, session, from);
  if (regrouped_.empty()) regrouped_ = said;
  meeting_.note_session();
  if (meeting_.rank() != from) session.store().mark_clean();
  step_.make(session);
  variables_.compare(meeting_.group());
  agreement_.begin_session();
  variables_.note_alike();
}

// Several ranks may have the newest step. The first of them is chosen.
int RunRanks::newest_rank(DirectSession& session, bool trained) {
  const std::int64_t step = trained || meeting_.chief() ? std::max<std::int64_t>(session.global_step(), 0) : -1;
  const std::vector<std::int64_t> all = meeting_.group().all_gather({step});
  const auto newest = std::max_element(all.begin(), all.end());
  const auto from = static_cast<int>(newest - all.begin());
  regrouped_ = meeting_.what_changed(from, *newest);
  return from;
}

void RunRanks::leave() {
  if (agreement_.ended() || !meeting_.is_open() || session_ == nullptr) return;
  with_those_left([this] { agreement_.end_run(); });
}

// It runs after the last step, so this rank's input is not read any more.
void RunRanks::with_those_left(const std::function<void()>& call) {
  meeting_.end_places();
  bool together = true;
  for (int i = 1;; ++i) try {
      if (!together) {
        regroup();
        if (agreement_.ended()) return;
        share(*session_, true);
        together = true;
      }
      return call();
    } catch (const Error& e) {
      if (!meeting_.regroups() || !is_preemption(e.code()) || i == kTriesAtEnd) throw;
      together = false;
    }
}

void RunRanks::end_together() noexcept {
  if (!meeting_.is_open()) return;
  const RankWait waiting(control_.waits);
  try {
    meeting_.group().all_gather({0});
  } catch (const Error&) {  // a rank has already ended, and no rank waits for it
  }
}

}  // namespace belay::runtime
