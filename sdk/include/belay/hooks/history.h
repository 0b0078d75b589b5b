// SPDX-License-Identifier: Apache-2.0
// The values of a training's scalars in memory, like Keras's History.
//
//   auto hook = std::make_unique<belay::History>(std::vector<std::string>{"loss"}, 10);
//   belay::History& history = *hook;
//   options.hooks.push_back(own_hook("history", std::move(hook)));
//   ...
//   history.steps();                  // 1, 11, 21, ...
//   history.values("loss")[2];        // at step 21
//
// It keeps `capacity` points of each scalar. When they are full, it drops every second point and doubles the period. So
// a long training has its whole curve in bounded memory. After the first step a run allocates nothing. It is part of
// the checkpoint, so a training that continues has the points of the previous attempts. The plugin `history` writes
// them into a file at the end. [session]
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/due_steps.h"
#include "belay/hook.h"
#include "belay/scalar_fetches.h"

namespace belay {
inline namespace v0 {

// A class can derive from it, as the plugin does.
class History : public Hook {
 public:
  static constexpr std::int64_t kDefaultCapacity = 10000;

  // Takes names for Graph::find, at least one. every_n_steps >= 1 and capacity >= 2 are not checked.
  explicit History(std::vector<std::string> tensors, std::int64_t every_n_steps = 1,
                   std::int64_t capacity = kDefaultCapacity)
      : scalars_(std::move(tensors)), every_n_steps_(every_n_steps), capacity_(capacity), due_(every_n_steps) {
    steps_.reserve(static_cast<std::size_t>(capacity));
    columns_.resize(scalars_.size());
    for (std::vector<double>& column : columns_) column.reserve(static_cast<std::size_t>(capacity));
  }

  // The names as given.
  const std::vector<std::string>& names() const noexcept { return scalars_.names(); }
  // The global steps of the points, rising. Valid until the next run.
  const std::vector<std::int64_t>& steps() const noexcept { return steps_; }
  // The values at these steps, NaN and infinities included. Valid until the next run. NOT_FOUND: the name was not
  // given.
  const std::vector<double>& values(std::string_view name) const {
    for (std::size_t i = 0; i < scalars_.size(); ++i)
      if (scalars_.name(i) == name) return columns_[i];
    fail(Code::kNotFound, "the history has no '" + std::string(name) + "'");
  }
  // Steps between two points: every_n_steps times a power of 2.
  std::int64_t period() const noexcept { return every_n_steps_ * thinned_; }

  void begin(Graph& graph) override {
    due_.begin(graph);
    scalars_.begin(graph, "history");
  }
  void after_create_session(Session& session) override {
    due_.session_created(session);
    while (!steps_.empty() && steps_.back() > session.global_step().value_or(0)) pop();  // steps that are repeated
  }
  RunArgs before_run(RunContext&) override {
    RunArgs args{due_.fetch()};
    if (due_.next(host())) scalars_.add_to(args);
    return args;
  }
  void after_run(RunContext& run, const RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (!step || seen_++ % thinned_ != 0) return;
    if (static_cast<std::int64_t>(steps_.size()) == capacity_) thin_out();
    if ((seen_ - 1) % thinned_ != 0) return;  // the current point is one of those that are dropped now
    steps_.push_back(*step);
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(scalars_.value(values, i));
  }

  void save_state(StateWriter& state) const override {
    due_.save(state, host());
    state.put("seen", seen_);
    state.put("thinned", thinned_);
    const auto n = static_cast<std::int64_t>(steps_.size());
    std::copy(steps_.begin(), steps_.end(), state.tensor("steps", DType::kInt64, {n}).data<std::int64_t>());
    for (std::size_t i = 0; i < columns_.size(); ++i)
      std::copy(columns_[i].begin(), columns_[i].end(),
                state.tensor("of/" + scalars_.name(i), DType::kFloat64, {n}).data<double>());
  }
  // Points of a scalar that was added later are unknown: NaN. Points beyond the current capacity are thinned out.
  void load_state(const StateReader& state) override {
    due_.load(state, host());
    seen_ = state.integer("seen");
    thinned_ = std::max<std::int64_t>(1, state.integer("thinned", 1));
    load(state.tensor("steps"), steps_);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      load(state.tensor("of/" + scalars_.name(i)), columns_[i]);
      columns_[i].resize(steps_.size(), std::numeric_limits<double>::quiet_NaN());
    }
    while (static_cast<std::int64_t>(steps_.size()) > capacity_) thin_out();
  }

 private:
  // Copies a stored tensor; without one the list is empty.
  template <class T>
  static void load(const TensorView& stored, std::vector<T>& into) {
    into.clear();
    if (stored.has_value() && stored.size() != 0)
      into.assign(stored.data<const T>(), stored.data<const T>() + stored.size());
  }
  // Keeps every second point.
  template <class T>
  static void halve(std::vector<T>& points) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points.size(); i += 2) points[kept++] = points[i];
    points.resize(kept);
  }
  void thin_out() {
    halve(steps_);
    for (std::vector<double>& column : columns_) halve(column);
    thinned_ *= 2;
  }
  void pop() {
    steps_.pop_back();
    for (std::vector<double>& column : columns_) column.pop_back();
    seen_ -= std::min(seen_, thinned_);
  }

  ScalarFetches scalars_;
  std::int64_t every_n_steps_;
  std::int64_t capacity_;
  DueSteps due_;
  std::vector<std::int64_t> steps_;
  std::vector<std::vector<double>> columns_;  // in the order of the names
  std::int64_t seen_ = 0;                     // due points, including dropped ones
  std::int64_t thinned_ = 1;                  // one of this number of points is kept
};

}  // namespace v0
}  // namespace belay
