// SPDX-License-Identifier: Apache-2.0
// What Estimator::predict returns: a sequence that computes as it is read. Nothing happens before the first element is
// asked for: no function of the program is called, no hook is looked at, no checkpoint is looked for.
//
//   EstimatorPredictions predictions = estimator.predict(input);
//   for (const PredictedRow& p : predictions) print(p["class"].scalar<std::int64_t>());
//
// It is read once. Behind the last element the session is closed and its hooks' `end` was called; where reading stops
// before, close() does the same, and the destructor closes it without `end`, as after an error. An error leaves the
// element that was asked for, and ends the sequence. It outlives the Estimator. [main]
#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/runtime/estimator_options.h"
#include "belay/tensor.h"

#include "runtime/estimator/estimator_run.h"

namespace belay::runtime {

// One example's predictions, or a batch's. Valid until the next one is asked for.
class PredictedRow {
 public:
  // NOT_FOUND with the nearest name.
  TensorView operator[](std::string_view name) const;
  // Of a model that predicts one tensor, or of one key.
  TensorView value() const;
  // In the model's order.
  const std::vector<std::string>& names() const noexcept { return *names_; }
  TensorView at(std::size_t i) const { return {values_[i]}; }

 private:
  friend class EstimatorPredictions;
  const std::vector<std::string>* names_ = nullptr;
  std::vector<belay_tensor> values_;
};

class EstimatorPredictions {
 public:
  EstimatorPredictions(std::shared_ptr<const EstimatorSettings> settings, InputFn input, PredictArguments options);
  ~EstimatorPredictions();
  EstimatorPredictions(EstimatorPredictions&&) noexcept;
  EstimatorPredictions& operator=(EstimatorPredictions&&) = delete;

  // Null behind the last one.
  const PredictedRow* next();
  void close();
  // That the predictions are of; empty before the first element, and where there is none.
  const std::string& checkpoint() const noexcept { return checkpoint_; }

  class Iterator {
   public:
    using value_type = PredictedRow;
    using difference_type = std::ptrdiff_t;
    const PredictedRow& operator*() const { return *at_; }
    const PredictedRow* operator->() const { return at_; }
    Iterator& operator++() {
      at_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return i.at_ == nullptr; }

   private:
    friend class EstimatorPredictions;
    explicit Iterator(EstimatorPredictions& from) : from_(&from), at_(from.next()) {}
    EstimatorPredictions* from_;
    const PredictedRow* at_;
  };
  Iterator begin() { return Iterator(*this); }
  static std::default_sentinel_t end() { return {}; }

 private:
  class Session;

  std::shared_ptr<const EstimatorSettings> settings_;
  InputFn input_;
  PredictArguments options_;
  std::unique_ptr<Session> session_;  // null: not begun, or ended
  bool begun_ = false;
  std::string checkpoint_;
};

}  // namespace belay::runtime
