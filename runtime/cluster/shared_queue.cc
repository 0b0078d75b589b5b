// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/shared_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::int64_t rows_of(const QueueElement& element) {
  for (const DenseTensor& t : element.components)
    if (!t.dims().empty()) return t.dims()[0];
  return 1;
}

// Returns a batch of one row of zeros, with the shapes and types of the queue's node.
std::vector<DenseTensor> zeros_of(const Node& queue) {
  const std::vector<std::int64_t> dtypes = queue.attrs.integers("dtypes");
  const std::vector<Shape> shapes = shapes_of_components(queue.attrs.integers("shapes")).value();  // checked when made
  std::vector<DenseTensor> zeros;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Dims dims = shapes[i].has_rank() ? shapes[i].dims() : Dims{1};
    for (std::int64_t& d : dims) d = std::max<std::int64_t>(d, 1);
    const auto dtype = static_cast<DType>(dtypes[i]);
    DenseTensor& t = zeros.emplace_back(dtype, dims);
    if (dtype != DType::kString && t.bytes() != 0) std::memset(t.data(), 0, t.bytes());
  }
  return zeros;
}

class SharedQueue final : public QueueOfRanks {
 public:
  SharedQueue(std::unique_ptr<Queue> inner, const SharedQueueParts& parts, std::vector<DenseTensor> zeros)
      : inner_(std::move(inner)), parts_(parts), zeros_(std::move(zeros)), steps_on_(std::this_thread::get_id()) {}

  QueueElement dequeue(const CancelToken&) override {
    check_is_step();
    parts_.agreement.check_continues();
    const RankNote mine = own_note();
    return take(mine, parts_.agreement.begin_step(mine, own_error_));
  }
  QueueElement dequeue_many(std::int64_t, bool, const CancelToken&) override {
    fail(Code::kUnimplemented, "[B5107] several ranks take batches one by one");
  }
  StepRanks& ranks() noexcept override { return parts_.step; }

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
  // The other ranks would take any other dequeue for their next step.
  void check_is_step() const {
    const std::string why = ": of several processes only the step takes a batch, which all make together";
    if (const std::optional<PluginInstance::Current> current = PluginInstance::current())
      fail(Code::kFailedPrecondition, fmt::format("[B5107] {} runs what needs a batch of the training's input, in {}{}",
                                                  double_quoted(current->instance.name()), current->callback, why));
    if (std::this_thread::get_id() != steps_on_)
      fail(Code::kFailedPrecondition, "[B5107] a thread runs what needs a batch of the training's input" + why);
  }
  // Waits for this rank's own batch. The batch is kept until a step takes it.
  RankNote own_note() {
    RankNote note;
    if (parts_.control.stopping()) note.kind = RankNote::kEndsRun;
    if (note.kind == RankNote::kRows && !next_) fetch(note);
    if (note.kind != RankNote::kRows) return note;
    note.epoch = parts_.inputs.epoch();
    note.rows = rows_of(*next_);
    note.position = next_->position;
    return note;
  }
  void fetch(RankNote& note) {
    try {
      next_ = inner_->dequeue(CancelToken(parts_.control.wakes, system_clock()));
      parts_.inputs.fetched(next_->position);
    } catch (const Error& e) {
      own_error_ = e;
      note.kind = e.code() == Code::kOutOfRange                               ? RankNote::kInputEnded
                  : e.code() == Code::kCancelled && parts_.control.stopping() ? RankNote::kEndsRun
                                                                              : RankNote::kFailed;
    }
  }
  // Returns the batch of this rank, or one that counts for nothing.
  QueueElement take(const RankNote& mine, const std::vector<RankNote>& notes) {
    std::int64_t epoch = INT64_MAX, rows = 0;
    for (const RankNote& n : notes)
      if (n.kind == RankNote::kRows) epoch = std::min(epoch, n.epoch);
    const auto counts = [&](const RankNote& n) { return n.kind == RankNote::kRows && n.epoch == epoch; };
    for (const RankNote& n : notes)
      if (counts(n)) rows += n.rows;
    if (rows == 0) fail(Code::kInvalidArgument, "[B5108] no rank has a row in this step");
    QueueElement element;
    if (counts(mine)) {
      element = std::move(*next_);
      next_.reset();
      parts_.inputs.took(element.position);
      last_ = element.components;  // shared, not copied
      parts_.step.take(static_cast<double>(mine.rows) / static_cast<double>(rows));
    } else {
      element.components = without_rows();
      parts_.step.take(0);
    }
    if (!parts_.meeting.chief() && !parts_.meeting.regroups()) return element;
    for (int r = 0; r < parts_.meeting.size(); ++r)
      if (const RankNote& n = notes[static_cast<std::size_t>(r)]; r != parts_.meeting.rank() && counts(n))
        parts_.step.also_took(parts_.inputs.name_on_others(r), n.position);
    return element;
  }
  // Returns a batch of the right shape: an earlier one, the one of the next epoch, or zeros.
  const std::vector<DenseTensor>& without_rows() const {
    if (!last_.empty()) return last_;
    return next_ ? next_->components : zeros_;
  }

  const std::unique_ptr<Queue> inner_;
  const SharedQueueParts parts_;
  const std::vector<DenseTensor> zeros_;  // a batch of one row
  const std::thread::id steps_on_;
  std::optional<QueueElement> next_;
  std::vector<DenseTensor> last_;
  std::optional<Error> own_error_;
};

}  // namespace

QueueFactory share_queue(QueueFactory make, const std::string& name, const SharedQueueParts& parts) {
  return [make = std::move(make), name, parts](const Node& node) -> std::unique_ptr<Queue> {
    std::unique_ptr<Queue> queue = make(node);
    if (node.name != name) return queue;
    return std::make_unique<SharedQueue>(std::move(queue), parts, zeros_of(node));
  };
}

}  // namespace belay::runtime
