// SPDX-License-Identifier: Apache-2.0
// Input pipelines made of queues: TensorFlow 1's string_input_producer, batch, shuffle_batch and their family. Each
// function adds a queue and the runner that fills it to the graph, and returns what a step reads.
//
//   // images [60000, 784] and labels [60000] are constants
//   const std::vector<Output> one = ops::slice_input_producer({images, labels}, {.num_epochs = 10, .seed = 7});
//   const std::vector<Output> batch = ops::batch(one, 64, {.allow_smaller_final_batch = true});
//   const Output loss = model(batch[0], batch[1]);
//
// A monitored session and an Estimator start the threads by themselves; with an OwnedSession run
// graph.local_variables_initializer() and call start_queue_runners. Without a manifest, an input plugin or tensor_input
// these are the way to feed a program's own data; with one they are not needed: inputs shuffle, repeat and batch, and
// resume exactly.
//
// The end. A producer whose epochs are over closes its queue; each stage behind it takes what is left, closes its own,
// and the step's dequeue is OUT_OF_RANGE, which ends a training well. Elements that do not fill a last batch are
// dropped unless allow_smaller_final_batch is set. Another error of a stage reaches the step behind what came before
// it.
//
// Order. With one thread in each stage the order of the elements is exact: a function of the options and the names of
// the nodes (shuffled: of the seed, too), the same in each run of the program. With several threads every element still
// comes once in an epoch, in no certain order; what shuffle_batch chooses depends on how full its queue was, which only
// repeats where everything that it is fed waits for it.
//
// Resuming. Not exact: a checkpoint holds neither what is in a queue nor the epochs counted (local variables), so a run
// that goes on, or recovers, begins with the first epoch again. A monitored session that saves says so in a warning.
//
// Summaries. Each queue has one of how full it is, by TensorFlow's names ("batch/fraction_of_32_full").
//
// Errors in the arguments are INVALID_ARGUMENT while the graph is built, which is the only time to call these, on the
// thread that builds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/model.h"
#include "belay/ops/queues.h"
#include "belay/runtime/session.h"

namespace belay {
inline namespace v0 {
namespace ops {

// ---- producers: a queue of single elements

// x as it is, until it was read so many times: the run after that is OUT_OF_RANGE. Without a number x itself. At least
// 1. The count is a local variable.
Output limit_epochs(const Output& x, std::optional<std::int64_t> num_epochs = {}, std::string_view name = {});

struct ProducerOptions {
  // How many times each row comes; none: for ever.
  std::optional<std::int64_t> num_epochs = {};
  // Another order in each epoch. Without it as they are.
  bool shuffle = true;
  // Of the order, together with the name. 0 is a seed as any other: there is none that time chooses.
  std::int64_t seed = 0;
  // The most elements that wait.
  std::int64_t capacity = 32;
  // The scope; none: the function's name.
  std::string_view name = {};
};
// The rows of a tensor, one by one: a queue of one component. The shape of a row must be known.
QueueRef input_producer(const Output& rows, const ProducerOptions& options = {});
// Strings, such as names of files. None at all is an error here; where only a run knows their number, of that run.
QueueRef string_input_producer(const Graph& g, const std::vector<std::string>& strings,
                               const ProducerOptions& options = {});
QueueRef string_input_producer(const Output& strings, const ProducerOptions& options = {});
// The numbers 0 .. limit - 1, int32 scalars.
QueueRef range_input_producer(const Graph& g, std::int64_t limit, const ProducerOptions& options = {});
// One row of each tensor, taken out of the queue: [n, ...] of equal n makes [...]. Of each tensor one epoch is copied
// in its order at a time.
std::vector<Output> slice_input_producer(const std::vector<Output>& tensors, const ProducerOptions& options = {});

// The names of files that match one of these patterns (`*`, `?`, `[a-z]`, or a name), sorted, without doubles: a
// constant, looked up when this is called. May be empty; string_input_producer refuses that.
Output match_filenames_once(const Graph& g, const std::vector<std::string>& patterns, std::string_view name = {});

// ---- batches

struct BatchOptions {
  // That run the operations before the queue. More than 1: no certain order. Not for the joins, which have a thread for
  // each list.
  int num_threads = 1;
  // The most elements that wait.
  std::int64_t capacity = 32;
  // The tensors are batches already: their rows are the elements.
  bool enqueue_many = false;
  // Of an element, one for each tensor, where the graph does not know them. Empty: as the tensors say.
  std::vector<Dims> shapes = {};
  // Elements may differ in unknown dimensions: those of a batch are padded at their ends with 0, or empty strings, to
  // the longest among them.
  bool dynamic_pad = false;
  // The last batch has what is left. The first dimension is not known then.
  bool allow_smaller_final_batch = false;
  std::string_view name = {};
};
// batch_size elements stacked, in the order of their coming: [...] makes [batch_size, ...], in the order of `tensors`.
// The rank of each must be known, and without dynamic_pad all dimensions.
std::vector<Output> batch(const std::vector<Output>& tensors, std::int64_t batch_size,
                          const BatchOptions& options = {});
// Without the elements for which `keep_input` is false: a bool scalar, or with enqueue_many a vector, one for each row.
std::vector<Output> maybe_batch(const std::vector<Output>& tensors, const Output& keep_input, std::int64_t batch_size,
                                const BatchOptions& options = {});
// Of several lists that read different files: a thread for each fills one queue. As many tensors in each, of the same
// dtypes and of shapes that agree.
std::vector<Output> batch_join(const std::vector<std::vector<Output>>& lists, std::int64_t batch_size,
                               const BatchOptions& options = {});
// keep_inputs: one for each list.
std::vector<Output> maybe_batch_join(const std::vector<std::vector<Output>>& lists,
                                     const std::vector<Output>& keep_inputs, std::int64_t batch_size,
                                     const BatchOptions& options = {});

struct ShuffleBatchOptions {
  int num_threads = 1;
  // Of the choices, together with the name.
  std::int64_t seed = 0;
  bool enqueue_many = false;
  std::vector<Dims> shapes = {};
  bool allow_smaller_final_batch = false;
  std::string_view name = {};
};
// As batch, of random ones among those that wait: at least min_after_dequeue stay until the input has ended, at most
// `capacity` wait, which is more. A large min_after_dequeue mixes well and starts late.
std::vector<Output> shuffle_batch(const std::vector<Output>& tensors, std::int64_t batch_size, std::int64_t capacity,
                                  std::int64_t min_after_dequeue, const ShuffleBatchOptions& options = {});
std::vector<Output> maybe_shuffle_batch(const std::vector<Output>& tensors, const Output& keep_input,
                                        std::int64_t batch_size, std::int64_t capacity, std::int64_t min_after_dequeue,
                                        const ShuffleBatchOptions& options = {});
std::vector<Output> shuffle_batch_join(const std::vector<std::vector<Output>>& lists, std::int64_t batch_size,
                                       std::int64_t capacity, std::int64_t min_after_dequeue,
                                       const ShuffleBatchOptions& options = {});
std::vector<Output> maybe_shuffle_batch_join(const std::vector<std::vector<Output>>& lists,
                                             const std::vector<Output>& keep_inputs, std::int64_t batch_size,
                                             std::int64_t capacity, std::int64_t min_after_dequeue,
                                             const ShuffleBatchOptions& options = {});

// ---- named tensors, TensorFlow's dictionaries

// The same with names: what comes out has the names and the order of what went in, as an Estimator's InputResult holds
// them. Lists of a join must have the same names; their order may differ.
//
//   result.features = ops::batch({{"x", x}, {"y", y}}, 32);
std::vector<NamedOutput> batch(const std::vector<NamedOutput>& tensors, std::int64_t batch_size,
                               const BatchOptions& options = {});
std::vector<NamedOutput> maybe_batch(const std::vector<NamedOutput>& tensors, const Output& keep_input,
                                     std::int64_t batch_size, const BatchOptions& options = {});
std::vector<NamedOutput> batch_join(const std::vector<std::vector<NamedOutput>>& lists, std::int64_t batch_size,
                                    const BatchOptions& options = {});
std::vector<NamedOutput> shuffle_batch(const std::vector<NamedOutput>& tensors, std::int64_t batch_size,
                                       std::int64_t capacity, std::int64_t min_after_dequeue,
                                       const ShuffleBatchOptions& options = {});
std::vector<NamedOutput> maybe_shuffle_batch(const std::vector<NamedOutput>& tensors, const Output& keep_input,
                                             std::int64_t batch_size, std::int64_t capacity,
                                             std::int64_t min_after_dequeue, const ShuffleBatchOptions& options = {});
std::vector<NamedOutput> shuffle_batch_join(const std::vector<std::vector<NamedOutput>>& lists, std::int64_t batch_size,
                                            std::int64_t capacity, std::int64_t min_after_dequeue,
                                            const ShuffleBatchOptions& options = {});

}  // namespace ops
}  // namespace v0
}  // namespace belay
