// SPDX-License-Identifier: Apache-2.0
// The order of examples and an input's position: `epochs`, `shuffle`, `batch_size`, shards and seek for inputs with
// numbered examples. The input itself only turns example numbers into tensors.
//
//   struct Options : belay::BatchOptions { belay::Path path; };
//   static constexpr auto about = belay::about("points", "Points of a file",
//       belay::option("path", &Options::path, "file of points").required(), belay::batch_options<Options>());
//   ...
//   void open(const OpenArgs& args) override { order_ = ExampleOrder(examples, options_, args); }
//   bool next(Batch& batch, Position& position) override {
//     const std::vector<std::int64_t>& examples = order_.batch();
//     if (examples.empty()) return false;
//     ...                                       // one row per example; an exception here leaves the position
//     position = order_.advance();
//     return true;
//   }
//   void seek(const Position& position) override { order_.seek(position); }
//   std::int64_t size() const override { return order_.size(); }
//
// An epoch's order is 0 .. examples - 1, or with shuffle a Permutation of it by the seed of OpenArgs. Shard i of n gets
// its elements i, i + n, i + 2n .... So in every epoch each example goes to exactly one shard, and two shards differ by
// at most one example. A batch never crosses the end of an epoch. The last batch of an epoch is short if the batch size
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
  std::int64_t epochs = 0;  // 0: without end
};

// The declarations of batch_size, shuffle and epochs, for the `about` of an input whose Options O derive from
// BatchOptions. Set shuffle_help if the shuffled things need a name.
template <class O>
constexpr auto batch_options(std::string_view shuffle_help = "true: another order in each epoch, from the run's seed") {
  constexpr std::int64_t O::*batch_size = &O::batch_size;
  constexpr bool O::*shuffle = &O::shuffle;
  constexpr std::int64_t O::*epochs = &O::epochs;
  // The number of passes changes no number of the steps before the end.
  return std::make_tuple(
      option("batch_size", batch_size, "number of examples in a batch; the last batch of an epoch may be smaller")
          .range(1, 1e6),
      option("shuffle", shuffle, shuffle_help),
      option("epochs", epochs, "number of passes over the examples; 0 means without end").min(0).watching());
}

// The order of 10 examples with batch_size 4, without shuffle:
//
//   shard 0 of 1    epoch 0: 0 1 2 3 | 4 5 6 7 | 8 9       epoch 1: 0 1 2 3 | ...
//   shard 0 of 3    epoch 0: 0 3 6 9 |                     epoch 1: 0 3 6 9 | ...
//   shard 1 of 3    epoch 0: 1 4 7 |                       epoch 1: 1 4 7 | ...
//
// It is copyable. Use it from one thread at a time, as an input is called.
class ExampleOrder {
 public:
  // The same options and the number of examples, for an input without BatchOptions.
  struct Options {
    std::int64_t examples = 0;  // of all shards together; at least 1
    std::int64_t batch_size = 32;
    bool shuffle = false;
    std::int64_t epochs = 0;  // 0: without end
  };

  ExampleOrder() = default;

  // Does the same with BatchOptions. examples: the number of all shards together.
  ExampleOrder(std::int64_t examples, const BatchOptions& options, const OpenArgs& args)
      : ExampleOrder(Options{examples, options.batch_size, options.shuffle, options.epochs}, args) {}

  // Call it in Input::open. With shuffle it allocates 8 bytes for each example of all shards, at the first batch.
  // FAILED_PRECONDITION: this shard gets no example. INVALID_ARGUMENT: the shard does not exist.
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

  // Number of examples of this shard in one epoch: the result of Input::size.
  std::int64_t size() const noexcept { return size_; }
  // The place where the next batch begins.
  const Position& position() const noexcept { return position_; }

  // The examples of the next batch, in order. It is empty at the end, also when it is called again. Valid until the
  // next call here.
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

  // Moves past the batch that batch() returned last; call it once for each. Returns the position after it.
  Position advance() noexcept {
    position_.index += static_cast<std::int64_t>(batch_.size());
    if (position_.index == size_) position_ = {next_epoch(), 0};
    return position_;
  }

  // Makes the next batch begin at `position`. A position after the last epoch is the end. INVALID_ARGUMENT: this shard
  // cannot have the position.
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
  // A stored position may have the largest possible epoch.
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
