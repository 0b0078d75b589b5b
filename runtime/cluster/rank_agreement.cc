// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_agreement.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/cluster/rank_wait.h"
#include "runtime/monitored/hooks/session_hook.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kStepsBetweenChecks = 100;

// Returns the rank of the first note of this kind; -1 if there is none.
int first_of(const std::vector<RankNote>& notes, std::int64_t kind) {
  const auto found = std::find_if(notes.begin(), notes.end(), [&](const RankNote& n) { return n.kind == kind; });
  return found == notes.end() ? -1 : static_cast<int>(found - notes.begin());
}

}  // namespace

void RankAgreement::check_continues() const {
  if (gave_up_) throw Error(*gave_up_);
  if (ended_) fail(Code::kCancelled, "the ranks have ended the run");
}

std::vector<RankNote> RankAgreement::begin_step(const RankNote& mine, const std::optional<Error>& own_error) {
  std::vector<RankNote> notes = exchange(mine);
  if (const int failed = first_of(notes, RankNote::kFailed); failed >= 0) {
    ended_ = true;
    if (mine.kind == RankNote::kFailed) throw Error(*own_error);
    fail(Code::kAborted,
         fmt::format("[B5103] {} has failed: its input; its output names the cause", meeting_.name_of(failed)));
  }
  if (const int ends = first_of(notes, RankNote::kEndsRun); ends >= 0) {
    ended_ = true;
    compare_at_end();
    const std::string why = meeting_.name_of(ends) + " has ended the run";
    if (mine.kind != RankNote::kEndsRun) control_.stop(why);
    fail(Code::kCancelled, why);
  }
  if (std::all_of(notes.begin(), notes.end(), [](const RankNote& n) { return n.kind == RankNote::kInputEnded; })) {
    ended_ = true;
    compare_at_end();
    throw Error(*own_error);
  }
  return notes;
}

void RankAgreement::ask_for_states() {
  RankNote note;
  note.kind = RankNote::kSaves;
  const int failed = first_of(exchange(note), RankNote::kFailed);
  if (failed < 0) return;
  ended_ = true;
  fail(Code::kAborted, fmt::format("[B5103] {} has failed; its output names the cause", meeting_.name_of(failed)));
}

void RankAgreement::end_run() {
  RankNote note;
  note.kind = RankNote::kEndsRun;
  const std::vector<RankNote> notes = exchange(note);
  ended_ = true;
  if (first_of(notes, RankNote::kFailed) < 0) compare_at_end();
}

void RankAgreement::give_up(Error why) {
  ended_ = true;
  gave_up_.emplace(std::move(why));
}

// If the chief saves, its note asks for states instead of describing its batch. The others then send theirs.
std::vector<RankNote> RankAgreement::exchange(const RankNote& mine) {
  exchanging_ = true;
  for (;;) {
    std::vector<RankNote> notes = exchange_once(mine);
    const bool saves = notes[0].kind == RankNote::kSaves && first_of(notes, RankNote::kFailed) < 0;
    if (saves) states_.gather(meeting_);
    if (saves && mine.kind != RankNote::kSaves) continue;
    exchanging_ = false;
    return notes;
  }
}

std::vector<RankNote> RankAgreement::exchange_once(RankNote mine) {
  const std::int64_t step = variables_.step();
  control_.monitor.step.store(step, std::memory_order_relaxed);
  std::tie(mine.written, mine.assigned) = variables_.writes();
  mine.saved = saver_ != nullptr && saver_->taken_step() == step && std::exchange(compared_, step) != step;
  const RankWait waiting(control_.waits);
  std::vector<RankNote> notes = gather(mine);
  const auto any = [&](auto holds) { return std::any_of(notes.begin(), notes.end(), holds); };
  if (first_of(notes, RankNote::kFailed) >= 0) return notes;
  if (any([&](const RankNote& n) { return n.assigned != 0 || n.written != notes[0].written; }))
    variables_.take_written(meeting_.group());
  if (first_of(notes, RankNote::kEndsRun) >= 0) return notes;  // they compare after that
  const bool due = step > 0 && step % kStepsBetweenChecks == 0;
  if (due || any([](const RankNote& n) { return n.saved; })) variables_.compare(meeting_.group());
  return notes;
}

std::vector<RankNote> RankAgreement::gather(const RankNote& mine) {
  const Position& own = mine.position;
  const std::vector<std::int64_t> numbers = {mine.kind,    mine.epoch,    mine.rows,
                                             own.epoch,    own.index,     static_cast<std::int64_t>(own.bytes.size()),
                                             mine.written, mine.assigned, mine.saved ? 1 : 0};
  RankGroup& group = meeting_.group();
  const std::vector<std::int64_t> all = group.all_gather(numbers);
  std::vector<RankNote> notes(static_cast<std::size_t>(group.size()));
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < notes.size(); ++r) {
    const std::int64_t* n = all.data() + r * numbers.size();
    notes[r] = {n[0], n[1], n[2], {n[3], n[4], {}}, n[6], n[7], n[8] != 0};
    bytes = std::max(bytes, n[5]);
  }
  if (bytes == 0) return notes;
  std::vector<std::string> texts = group.gather_texts(own.bytes);
  for (std::size_t r = 0; r < notes.size(); ++r) notes[r].position.bytes = std::move(texts[r]);
  return notes;
}

// All have agreed on the end, so a rank that is lost now is not missed.
void RankAgreement::compare_at_end() {
  try {
    variables_.compare(meeting_.group());
    states_.gather(meeting_);
  } catch (const Error& e) {
    if (!meeting_.regroups() || !is_preemption(e.code())) throw;
  }
}

}  // namespace belay::runtime
