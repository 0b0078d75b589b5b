// SPDX-License-Identifier: Apache-2.0
// Which examples an input delivers next, and its position: what an input with numbered examples needs for `epochs`,
// `shuffle`, `batch_size`, shards and seek. The input itself only turns example numbers into tensors.
//
//   struct Options : belay::BatchOptions { belay::Path path; };
//   static constexpr auto about = belay::about("points", "Points of a file",
//       belay::option("path", &Options::path, "the file").required(), belay::batch_options<Options>());
//   ...
//   void open(const OpenArgs& args) override { order_ = ExampleOrder(examples, options_, args); }
//   bool next(Batch& batch, Position& position) override {
//     const std::vector<std::int64_t>& examples = order_.batch();
//     if (examples.empty()) return false;
//     ...                                       // one row per example; what throws here has not moved
//     position = order_.advance();
//     return true;
//   }
//   void seek(const Position& position) override { order_.seek(position); }
//   std::int64_t size() const override { return order_.size(); }
//
// An epoch's order is 0 .. examples - 1, or with shuffle a Permutation of it by the seed of OpenArgs. Shard i of n gets
// its elements i, i + n, i + 2n ...: in every epoch each example goes to exactly one shard, and two shards differ by at
// most one example. A batch never crosses the end of an epoch; the last one of an epoch is short where the batch size
// does not divide the shard's examples.
//
// Positions count this shard's examples. The position after the last example of epoch e is {e + 1, 0}.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "belay/input.h"
#include "belay/options.h"
#include "belay/permutation.h"

namespace belay {
inline namespace v0 {

// The options that inputs with numbered examples share. An input's Options derive from it, and its `about` names them
// with batch_options.
struct BatchOptions {
  std::int64_t batch_size = 32;
  bool shuffle = false;
  std::int64_t epochs = 0;  // 0: for ever
};

// batch_size, shuffle and epochs for the `about` of an input whose Options O derive from BatchOptions. shuffle_help:
// what is shuffled, where that is not plain.
template <class O>
constexpr auto batch_options(std::string_view shuffle_help = "another order in each epoch, by the run's seed") {
  constexpr std::int64_t O::*batch_size = &O::batch_size;
  constexpr bool O::*shuffle = &O::shuffle;
  constexpr std::int64_t O::*epochs = &O::epochs;
  // Where the passes end changes no number of the steps before.
  return std::make_tuple(
      option("batch_size", batch_size, "examples in a batch; an epoch's last one may be shorter").range(1, 1e6),
      option("shuffle", shuffle, shuffle_help),
      option("epochs", epochs, "passes over the examples; 0: for ever").min(0).watching());
}

// Of 10 examples, batch_size 4, without shuffle:
//
//   shard 0 of 1    epoch 0: 0 1 2 3 | 4 5 6 7 | 8 9       epoch 1: 0 1 2 3 | ...
//   shard 0 of 3    epoch 0: 0 3 6 9 |                     epoch 1: 0 3 6 9 | ...
//   shard 1 of 3    epoch 0: 1 4 7 |                       epoch 1: 1 4 7 | ...
//
// Copyable. One thread at a time, as an input is called.
class ExampleOrder {
 public:
  // From the input's options and its data: for one that does not have BatchOptions.
  struct Options {
    std::int64_t examples = 0;  // of all shards together; at least 1
    std::int64_t batch_size = 32;
    bool shuffle = false;
    std::int64_t epochs = 0;  // 0: for ever
  };

  ExampleOrder() = default;

  // examples: of all shards together. Otherwise as the next one.
  ExampleOrder(std::int64_t examples, const BatchOptions& options, const OpenArgs& args)
      : ExampleOrder(Options{examples, options.batch_size, options.shuffle, options.epochs}, args) {}

  // In Input::open. FAILED_PRECONDITION where this shard would get no example, INVALID_ARGUMENT for a shard that there
  // is not. With shuffle it takes 8 bytes for each example of all shards, at the first batch.
  ExampleOrder(const Options& options, const OpenArgs& args)
      : options_(options), shard_(args.shard), shards_(args.shards), permutation_(args.seed, options.examples) {
    if (shard_ < 0 || shard_ >= shards_)
      fail(Code::kInvalidArgument,
           "there is no shard " + std::to_string(shard_) + " of " + std::to_string(shards_) + "; shards count from 0");
    size_ = options.examples > shard_ ? (options.examples - shard_ - 1) / shards_ + 1 : 0;
    if (size_ == 0)
      fail(Code::kFailedPrecondition, "shard " + std::to_string(shard_) + " of " + std::to_string(shards_) +
                                          " gets none of the " + std::to_string(options.examples) +
                                          " examples; use fewer shards");
  }

  // Examples of this shard in one epoch: what Input::size returns.
  std::int64_t size() const noexcept { return size_; }
  // Where the next batch begins.
  const Position& position() const noexcept { return position_; }

  // The examples of the next batch, in order; empty at the end, also when asked again. Valid until the next call here.
  const std::vector<std::int64_t>& batch() {
    batch_.clear();
    if (options_.epochs != 0 && position_.epoch >= options_.epochs) return batch_;
    if (options_.shuffle) permutation_.use_epoch(position_.epoch);
    const std::int64_t end = position_.index + std::min(size_ - position_.index, options_.batch_size);
    for (std::int64_t i = position_.index; i < end; ++i) {
      const std::int64_t place = shard_ + i * shards_;
      batch_.push_back(options_.shuffle ? permutation_[place] : place);
    }
    return batch_;
  }

  // Moves past the batch that batch() returned last; once for each. Returns the position after it.
  Position advance() noexcept {
    position_.index += static_cast<std::int64_t>(batch_.size());
    if (position_.index == size_) position_ = {next_epoch(), 0};
    return position_;
  }

  // The next batch begins at `position`. A position that this shard cannot have is INVALID_ARGUMENT; one after the last
  // epoch is the end.
  void seek(const Position& position) {
    if (position.epoch < 0 || position.index < 0 || position.index > size_)
      fail(Code::kInvalidArgument,
           "there is no position " + std::to_string(position.index) + " in epoch " + std::to_string(position.epoch) +
               ": this shard has " + std::to_string(size_) +
               " examples in an epoch; it was stored with other data or another number of shards");
    batch_.clear();
    position_ = position;
    if (position_.index == size_) position_ = {next_epoch(), 0};
  }

 private:
  // A stored position may be of the last epoch that has a number.
  std::int64_t next_epoch() const noexcept {
    return position_.epoch < std::numeric_limits<std::int64_t>::max() ? position_.epoch + 1 : position_.epoch;
  }

  Options options_;
  std::int64_t shard_ = 0;
  std::int64_t shards_ = 1;
  std::int64_t size_ = 0;
  Position position_;
  Permutation permutation_;
  std::vector<std::int64_t> batch_;
};

}  // namespace v0
}  // namespace belay
