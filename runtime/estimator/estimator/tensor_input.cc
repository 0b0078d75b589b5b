// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "belay/ops/control.h"
#include "belay/ops/queues.h"
#include "belay/runtime/estimator.h"

namespace belay {
namespace {

// Fills the queue of each new session.
class FillQueue final : public Hook {
 public:
  FillQueue(const ops::QueueRef& queue, const std::vector<Output>& rows, std::int64_t epochs)
      : enqueue_(ops::enqueue_many(queue, rows)), close_(ops::queue_close(queue)), epochs_(epochs) {}

  void after_create_session(Session& session) override {
    for (std::int64_t i = 0; i < epochs_; ++i) session.run({enqueue_});
    session.run({close_});
  }

 private:
  const Output enqueue_, close_;
  const std::int64_t epochs_;
};

class TensorInput {
 public:
  TensorInput(NamedTensors features, NamedTensors labels, TensorInputOptions options)
      : features_(features.size()), tensors_(std::move(features)), options_(options) {
    if (tensors_.empty()) fail(Code::kInvalidArgument, "[B5053] tensor_input: there is no feature");
    tensors_.insert(tensors_.end(), labels.begin(), labels.end());
    if (options.batch_size < 1 || options.epochs < 1)
      fail(Code::kInvalidArgument, "[B5053] tensor_input: batch_size and epochs must be at least 1");
    for (const auto& [name, tensor] : tensors_) {
      if (tensor.dims().empty())
        fail(Code::kInvalidArgument, "[B5053] tensor_input: '" + name + "' is a scalar, without rows");
      if (tensor.dims()[0] != tensors_[0].second.dims()[0])
        fail(Code::kInvalidArgument, "[B5053] tensor_input: '" + name + "' " + dims_text(tensor.dims()) +
                                         " has not as many rows as '" + tensors_[0].first + "' " +
                                         dims_text(tensors_[0].second.dims()));
    }
  }

  InputResult operator()(const InputArgs& input) const {
    std::vector<ops::QueueComponent> components;
    std::vector<Output> rows;
    for (const auto& [name, tensor] : tensors_) {
      components.push_back({tensor.dtype(), Dims(tensor.dims().begin() + 1, tensor.dims().end())});
      rows.push_back(ops::constant(input.graph, tensor, name));
    }
    const std::int64_t all = tensors_[0].second.dims()[0] * options_.epochs;
    const ops::QueueRef queue = ops::fifo_queue(input.graph, std::max<std::int64_t>(all, 1), components);
    const std::vector<Output> batch = ops::dequeue_up_to(queue, options_.batch_size);
    InputResult result;
    for (std::size_t i = 0; i < batch.size(); ++i)
      (i < features_ ? result.features : result.labels).push_back({tensors_[i].first, batch[i]});
    result.hooks = {own_hook("tensor_input", std::make_unique<FillQueue>(queue, rows, options_.epochs))};
    return result;
  }

 private:
  std::size_t features_;
  NamedTensors tensors_;
  TensorInputOptions options_;
};

}  // namespace

InputFn tensor_input(NamedTensors features, NamedTensors labels, TensorInputOptions options) {
  return TensorInput(std::move(features), std::move(labels), options);
}

}  // namespace belay
