// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/run_ranks.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/cluster/rank_wait.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr int kTriesAtEnd = 10;  // of ranks that end and come again while the others end
constexpr std::int64_t kStepsBetweenChecks = 100;

std::int64_t rows_of(const QueueElement& element) {
  for (const DenseTensor& t : element.components)
    if (!t.dims().empty()) return t.dims()[0];
  return 1;
}

}  // namespace

// What a rank says of itself where a step begins.
struct RunRanks::Note {
  enum Kind : std::int64_t { kRows, kInputEnded, kEndsRun, kFailed, kSaves };  // kSaves: the chief wants states
  std::int64_t kind = kRows;
  std::int64_t epoch = 0;  // of the batch that it has
  std::int64_t rows = 0;
  Position position = {};     // behind it
  std::int64_t written = 0;   // how often its variables were, since all were alike
  std::int64_t assigned = 0;  // of these not by a run
  bool saved = false;         // a checkpoint of these variables was begun

  std::vector<std::int64_t> numbers() const {
    return {kind,           epoch,          rows,
            position.epoch, position.index, static_cast<std::int64_t>(position.bytes.size()),
            written,        assigned,       saved ? 1 : 0};
  }
};

// The queue of this rank's shard. Its dequeue is one of all ranks.
class RunRanks::SharedQueue final : public QueueOfRanks {
 public:
  SharedQueue(std::unique_ptr<Queue> inner, RunRanks& ranks, Clock& clock, std::vector<Dims> empty,
              std::vector<DType> dtypes)
      : inner_(std::move(inner)), ranks_(ranks), clock_(clock), empty_(std::move(empty)), dtypes_(std::move(dtypes)) {}

  QueueElement dequeue(const CancelToken&) override {
    check_is_step();
    if (ranks_.gave_up_) throw Error(*ranks_.gave_up_);
    if (ranks_.ended_) fail(Code::kCancelled, "the ranks have ended the run");
    const Note mine = own_note();
    std::vector<Note> notes = ranks_.exchange(mine);
    end_together(notes);
    return take(notes);
  }
  QueueElement dequeue_many(std::int64_t, bool, const CancelToken&) override {
    fail(Code::kUnimplemented, "several ranks take batches one by one");
  }
  StepRanks& ranks() noexcept override { return ranks_.step_; }

  void enqueue(QueueElement element, const CancelToken& cancel) override {
    inner_->enqueue(std::move(element), cancel);
  }
  void enqueue_many(std::vector<QueueElement> elements, const CancelToken& cancel) override {
    inner_->enqueue_many(std::move(elements), cancel);
  }
  bool wait_for_element(const CancelToken& cancel) override { return inner_->wait_for_element(cancel); }
  void recycle(QueueElement element) override { inner_->recycle(std::move(element)); }
  QueueElement spare() override { return inner_->spare(); }
  void close(bool cancel_pending) override { inner_->close(cancel_pending); }
  void close_with_error(const Error& error) override { inner_->close_with_error(error); }
  void reopen() override { inner_->reopen(); }
  bool closed() const override { return inner_->closed(); }
  std::int64_t size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }

 private:
  // The other ranks would take it for their next step.
  void check_is_step() const {
    const std::string why = ": of several processes only the step takes a batch, which all make together";
    if (const std::optional<PluginInstance::Current> current = PluginInstance::current())
      fail(Code::kFailedPrecondition, double_quoted(current->instance.name()) +
                                          " runs what needs a batch of the training's input, in " + current->callback +
                                          why);
    if (std::this_thread::get_id() != ranks_.steps_on_)
      fail(Code::kFailedPrecondition, "a thread runs what needs a batch of the training's input" + why);
  }
  // Waits for a batch of its own. It is kept until a step takes it.
  Note own_note() {
    Note note;
    if (ranks_.control_.stopping()) note.kind = Note::kEndsRun;
    if (note.kind == Note::kRows && !next_) fetch(note);
    if (note.kind != Note::kRows) return note;
    note.epoch = ranks_.inputs_.epoch();
    note.rows = rows_of(*next_);
    note.position = next_->position;
    return note;
  }
  void fetch(Note& note) {
    try {
      next_ = inner_->dequeue(CancelToken(ranks_.control_.wakes, clock_));
      ranks_.inputs_.fetched(next_->position);
    } catch (const Error& e) {
      own_error_ = e;
      note.kind = e.code() == Code::kOutOfRange                                ? Note::kInputEnded
                  : e.code() == Code::kCancelled && ranks_.control_.stopping() ? Note::kEndsRun
                                                                               : Note::kFailed;
    }
  }
  // Throws the same on all ranks, where the step does not happen.
  void end_together(const std::vector<Note>& notes) {
    const auto first = [&](std::int64_t kind) {
      return std::find_if(notes.begin(), notes.end(), [&](const Note& n) { return n.kind == kind; });
    };
    const auto name = [&](auto found) { return ranks_.meeting_.name_of(static_cast<int>(found - notes.begin())); };
    const auto own = notes.begin() + ranks_.meeting_.rank();
    if (const auto failed = first(Note::kFailed); failed != notes.end()) {
      ranks_.ended_ = true;
      if (own->kind == Note::kFailed) throw Error(*own_error_);
      fail(Code::kAborted, name(failed) + " has failed: its input; what it printed says why");
    }
    if (const auto ends = first(Note::kEndsRun); ends != notes.end()) {
      ranks_.ended_ = true;
      ranks_.compare_at_end();
      const std::string why = name(ends) + " has ended the run";
      if (own->kind != Note::kEndsRun) ranks_.control_.stop(why);
      fail(Code::kCancelled, why);
    }
    if (std::all_of(notes.begin(), notes.end(), [](const Note& n) { return n.kind == Note::kInputEnded; })) {
      ranks_.ended_ = true;
      ranks_.compare_at_end();
      throw Error(*own_error_);
    }
  }
  // The batch of this rank, or one that counts for nothing.
  QueueElement take(const std::vector<Note>& notes) {
    std::int64_t epoch = INT64_MAX, rows = 0;
    for (const Note& n : notes)
      if (n.kind == Note::kRows) epoch = std::min(epoch, n.epoch);
    const auto counts = [&](const Note& n) { return n.kind == Note::kRows && n.epoch == epoch; };
    for (const Note& n : notes)
      if (counts(n)) rows += n.rows;
    if (rows == 0) fail(Code::kInvalidArgument, "no rank has a row in this step");
    const Note& mine = notes[static_cast<std::size_t>(ranks_.meeting_.rank())];
    QueueElement element;
    if (counts(mine)) {
      element = std::move(*next_);
      next_.reset();
      ranks_.inputs_.took(element.position);
      ranks_.step_.take(static_cast<double>(mine.rows) / static_cast<double>(rows));
      last_ = element.components;  // shared, not copied
    } else {
      element.components = without_rows();
      ranks_.step_.take(0);
    }
    if (ranks_.meeting_.chief() || ranks_.meeting_.regroups())
      for (std::size_t r = 0; r < notes.size(); ++r)
        if (static_cast<int>(r) != ranks_.meeting_.rank() && counts(notes[r]))
          ranks_.step_.also_took(ranks_.inputs_.name_on_others(static_cast<int>(r)), notes[r].position);
    return element;
  }
  // Something of the right shape: an earlier batch, the one of the next epoch, or zeros.
  std::vector<DenseTensor> without_rows() const {
    if (!last_.empty()) return last_;
    if (next_) return next_->components;
    std::vector<DenseTensor> zeros;
    for (std::size_t i = 0; i < empty_.size(); ++i) {
      DenseTensor& t = zeros.emplace_back(dtypes_[i], empty_[i]);
      if (dtypes_[i] != DType::kString && t.bytes() != 0) std::memset(t.data(), 0, t.bytes());
    }
    return zeros;
  }

  const std::unique_ptr<Queue> inner_;
  RunRanks& ranks_;
  Clock& clock_;
  const std::vector<Dims> empty_;  // of a batch of one row
  const std::vector<DType> dtypes_;
  std::optional<QueueElement> next_;
  std::vector<DenseTensor> last_;
  std::optional<Error> own_error_;
};

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
      step_(meeting_, options_.wire, control_) {}

RunRanks::~RunRanks() {
  if (meeting_.regroups()) close();  // behind an error, too: nobody waits for this rank then
}

void RunRanks::met() {
  ended_ = lost_ = false;
  step_.drop();
  files_differ_ = compare_versions(meeting_, versions_);
  // Each rank's input has fitted its own file. Class numbers and scales are the model's, so there is one of them.
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
    // Alone it makes no step, but ends as a run does, with its last checkpoint if it is the chief.
    ended_ = true;
    if (e.code() == Code::kCancelled && control_.stopping()) return;
    if (e.code() == Code::kNotFound && meeting_.run_finished()) {
      control_.stop(std::string(e.message()));
      return;
    }
    gave_up_.emplace(e);
  }
}

// Another recovery would be one too many: the session is made, and its end saves.
bool RunRanks::give_up(const Error& error) {
  if (in_a_row_ == 0 || in_a_row_ < options_.max_recoveries || !is_preemption(error.code())) return false;
  ended_ = true;
  gave_up_.emplace(Code::kInternal,
                   "gave up after " + std::to_string(in_a_row_) + " recoveries in a row: " + error.what());
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
    // After an error the others may not be where they would answer: those of the last time are kept then.
    if (session_ != nullptr && !ended_ && !step_.under_way() && !lost_ && meeting_.size() > 1) ask_for_states();
    states_.add_to(states);
  });
}

void RunRanks::note_states() {
  in_a_row_ = 0;
  if (!meeting_.chief()) states_.note();
}

QueueFactory RunRanks::over(QueueFactory make) {
  return [this, make = std::move(make)](const Node& node) -> std::unique_ptr<Queue> {
    std::unique_ptr<Queue> queue = make(node);
    if (node.name != options_.queue) return queue;
    std::vector<Dims> empty;
    std::vector<DType> dtypes;
    for (const std::int64_t dtype : node.attrs.integers("dtypes")) dtypes.push_back(static_cast<DType>(dtype));
    const std::vector<Shape> shapes = shapes_of_components(node.attrs.integers("shapes")).value();  // checked when made
    for (const Shape& shape : shapes) {
      Dims dims = shape.has_rank() ? shape.dims() : Dims{1};
      for (std::int64_t& d : dims) d = std::max<std::int64_t>(d, 1);
      empty.push_back(std::move(dims));
    }
    return std::make_unique<SharedQueue>(std::move(queue), *this, system_clock(), std::move(empty), std::move(dtypes));
  };
}

CreatedSession RunRanks::alike(CreatedSession created, bool trained) {
  DirectSession& session = *created.session;
  session_ = &session;
  variables_.use(session);
  steps_on_ = std::this_thread::get_id();
  if (ended_) return created;  // alone: those that it waited for did not come
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
  compared_ = session.global_step();
  variables_.note_alike();
}

// Of those that have the same the first.
int RunRanks::newest_rank(DirectSession& session, bool trained) {
  const std::int64_t step = trained || meeting_.chief() ? std::max<std::int64_t>(session.global_step(), 0) : -1;
  const std::vector<std::int64_t> all = meeting_.group().all_gather({step});
  const auto newest = std::max_element(all.begin(), all.end());
  const auto from = static_cast<int>(newest - all.begin());
  regrouped_ = meeting_.what_changed(from, *newest);
  return from;
}

// ---- steps ----

// If the chief saves, it says so instead of what it has for the next step, and the others send their states.
std::vector<RunRanks::Note> RunRanks::exchange(const Note& mine) {
  lost_ = true;
  for (;;) {
    std::vector<Note> notes = exchange_once(mine);
    const bool failed = std::any_of(notes.begin(), notes.end(), [](const Note& n) { return n.kind == Note::kFailed; });
    const bool saves = notes[0].kind == Note::kSaves && !failed;
    if (saves) states_.gather(meeting_);
    if (saves && mine.kind != Note::kSaves) continue;
    lost_ = false;
    return notes;
  }
}

void RunRanks::ask_for_states() {
  Note note;
  note.kind = Note::kSaves;
  const std::vector<Note> notes = exchange(note);
  const auto failed = std::find_if(notes.begin(), notes.end(), [](const Note& n) { return n.kind == Note::kFailed; });
  if (failed == notes.end()) return;
  ended_ = true;
  fail(Code::kAborted,
       meeting_.name_of(static_cast<int>(failed - notes.begin())) + " has failed; what it printed says why");
}

std::vector<RunRanks::Note> RunRanks::exchange_once(Note mine) {
  const std::int64_t step = session_->global_step();
  control_.monitor.step.store(step, std::memory_order_relaxed);
  std::tie(mine.written, mine.assigned) = variables_.writes();
  mine.saved = saver_ != nullptr && saver_->taken_step() == step && std::exchange(compared_, step) != step;
  const RankWait waiting(control_.waits);
  const std::vector<std::int64_t> numbers = mine.numbers();
  const std::vector<std::int64_t> all = meeting_.group().all_gather(numbers);
  std::vector<Note> notes(static_cast<std::size_t>(meeting_.size()));
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < notes.size(); ++r) {
    const std::int64_t* n = all.data() + r * numbers.size();
    notes[r] = {n[0], n[1], n[2], {n[3], n[4], {}}, n[6], n[7], n[8] != 0};
    bytes = std::max(bytes, n[5]);
  }
  if (bytes > 0) {
    std::vector<std::string> texts = meeting_.group().gather_texts(mine.position.bytes);
    for (std::size_t r = 0; r < notes.size(); ++r) notes[r].position.bytes = std::move(texts[r]);
  }
  const auto any = [&](auto holds) { return std::any_of(notes.begin(), notes.end(), holds); };
  if (any([](const Note& n) { return n.kind == Note::kFailed; })) return notes;
  if (any([&](const Note& n) { return n.assigned != 0 || n.written != notes[0].written; }))
    variables_.take_written(meeting_.group());
  if (any([](const Note& n) { return n.kind == Note::kEndsRun; })) return notes;  // they compare behind that
  const bool due = step > 0 && step % kStepsBetweenChecks == 0;
  if (due || any([](const Note& n) { return n.saved; })) variables_.compare(meeting_.group());
  return notes;
}

void RunRanks::leave() {
  if (ended_ || !meeting_.is_open() || session_ == nullptr) return;
  Note note;
  note.kind = Note::kEndsRun;
  std::vector<Note> notes;
  with_those_left([&] { notes = exchange(note); });
  if (std::exchange(ended_, true)) return;
  if (std::none_of(notes.begin(), notes.end(), [](const Note& n) { return n.kind == Note::kFailed; })) compare_at_end();
}

// Behind the last step: this rank's input is not read any more.
void RunRanks::with_those_left(const std::function<void()>& call) {
  meeting_.end_places();
  bool together = true;
  for (int i = 1;; ++i) try {
      if (!together) {
        regroup();
        if (ended_) return;
        share(*session_, true);
        together = true;
      }
      return call();
    } catch (const Error& e) {
      if (!meeting_.regroups() || !is_preemption(e.code()) || i == kTriesAtEnd) throw;
      together = false;
    }
}

// All have agreed on the end: who is lost now is not missed.
void RunRanks::compare_at_end() {
  try {
    variables_.compare(meeting_.group());
    states_.gather(meeting_);
  } catch (const Error& e) {
    if (!meeting_.regroups() || !is_preemption(e.code())) throw;
  }
}

void RunRanks::end_together() noexcept {
  if (!meeting_.is_open()) return;
  const RankWait waiting(control_.waits);
  try {
    meeting_.group().all_gather({0});
  } catch (const Error&) {  // one has ended before, and is not waited for
  }
}

}  // namespace belay::runtime
