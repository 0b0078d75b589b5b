// SPDX-License-Identifier: Apache-2.0
// Input pipelines made of queues: TensorFlow 1's string_input_producer, batch, shuffle_batch and related functions.
// Each function adds a queue and the runner that fills it to the graph, and returns the tensors for a step.
//
//   // images [60000, 784] and labels [60000] are constants
//   const std::vector<Output> one = ops::slice_input_producer({images, labels}, {.num_epochs = 10, .seed = 7});
//   const std::vector<Output> batch = ops::batch(one, 64, {.allow_smaller_final_batch = true});
//   const Output loss = model(batch[0], batch[1]);
//
// A monitored session and an Estimator start the threads by themselves. With an OwnedSession run
// graph.local_variables_initializer() and call start_queue_runners. Use these functions for a program's own data
// without a manifest, an input plugin or tensor_input. Inputs shuffle, repeat and batch by themselves, and resume
// exactly.
//
// The end. When its epochs are over, a producer closes its queue. Each later stage takes the remaining elements and
// closes its own queue. Then the step's dequeue is OUT_OF_RANGE, which ends a training normally. Elements that do not
// fill a last batch are dropped unless allow_smaller_final_batch is set. Any other error of a stage reaches the step
// after the elements before it.
//
// Order. With one thread in each stage the order of the elements is exact. It is a function of the options and the
// names of the nodes (shuffled: of the seed too), the same in each run of the program. With several threads every
// element still comes once in an epoch, in no fixed order. The choices of shuffle_batch depend on the number of
// elements in its queue. They repeat only if all stages before it wait for it.
//
// Resuming is not exact. A checkpoint holds neither the elements of a queue nor the number of epochs (local variables).
// So a run that continues, or recovers, begins with the first epoch again. A monitored session that saves warns about
// it.
//
// Summaries. Each queue has a summary of its fill level, with TensorFlow's names ("batch/fraction_of_32_full").
//
// Errors in the arguments are INVALID_ARGUMENT while the graph is built. Call these functions only then, on the thread
// that builds it.
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

// Returns x unchanged, num_epochs times; the run after that is OUT_OF_RANGE. num_epochs is at least 1; without it the
// result is x itself. The count is a local variable.
Output limit_epochs(const Output& x, std::optional<std::int64_t> num_epochs = {}, std::string_view name = {});

struct ProducerOptions {
  // Number of times each row comes; empty: without end.
  std::optional<std::int64_t> num_epochs = {};
  // If true, each epoch has another order. If false, rows keep their order.
  bool shuffle = true;
  // Seed of the order, together with the name. 0 is an ordinary seed: no seed comes from the time.
  std::int64_t seed = 0;
  // Largest number of elements that wait in the queue.
  std::int64_t capacity = 32;
  // The scope; empty: the function's name.
  std::string_view name = {};
};
// The rows of a tensor, one by one: a queue of one component. The shape of a row must be known.
QueueRef input_producer(const Output& rows, const ProducerOptions& options = {});
// Strings, such as names of files. An empty list is an error here, or in the run if only a run knows their number.
QueueRef string_input_producer(const Graph& g, const std::vector<std::string>& strings,
                               const ProducerOptions& options = {});
QueueRef string_input_producer(const Output& strings, const ProducerOptions& options = {});
// The numbers 0 .. limit - 1, int32 scalars.
QueueRef range_input_producer(const Graph& g, std::int64_t limit, const ProducerOptions& options = {});
// Takes one row of each tensor from the queue: [n, ...] of equal n makes [...]. One epoch of each tensor at a time is
// copied in its order.
std::vector<Output> slice_input_producer(const std::vector<Output>& tensors, const ProducerOptions& options = {});

// The names of files that match one of these patterns (`*`, `?`, `[a-z]`, or a name), sorted, without duplicates. It is
// a constant that this call looks up. It may be empty; string_input_producer refuses that.
Output match_filenames_once(const Graph& g, const std::vector<std::string>& patterns, std::string_view name = {});

// ---- batches

struct BatchOptions {
  // Number of threads that run the operations before the queue. With more than 1 the order is not fixed. It does not
  // apply to the joins, which have a thread for each list.
  int num_threads = 1;
  // Largest number of elements that wait in the queue.
  std::int64_t capacity = 32;
  // If true, the tensors are batches already: their rows are the elements.
  bool enqueue_many = false;
  // Shapes of an element, one for each tensor, if the graph does not know them. Empty: those of the tensors.
  std::vector<Dims> shapes = {};
  // If true, elements may differ in unknown dimensions. Those of a batch are padded at their ends with 0, or empty
  // strings, to the longest of them.
  bool dynamic_pad = false;
  // If true, the last batch has the remaining elements. Then the first dimension is not known.
  bool allow_smaller_final_batch = false;
  std::string_view name = {};
};
// Stacks batch_size elements in the order of their arrival: [...] makes [batch_size, ...], in the order of `tensors`.
// The rank of each must be known, and without dynamic_pad all dimensions.
std::vector<Output> batch(const std::vector<Output>& tensors, std::int64_t batch_size,
                          const BatchOptions& options = {});
// The same without the elements for which `keep_input` is false: a bool scalar, or with enqueue_many a vector with one
// for each row.
std::vector<Output> maybe_batch(const std::vector<Output>& tensors, const Output& keep_input, std::int64_t batch_size,
                                const BatchOptions& options = {});
// The same for several lists that read different files: a thread for each fills one queue. Lists have the same number
// of tensors, of the same dtypes and of matching shapes.
std::vector<Output> batch_join(const std::vector<std::vector<Output>>& lists, std::int64_t batch_size,
                               const BatchOptions& options = {});
// keep_inputs: one for each list.
std::vector<Output> maybe_batch_join(const std::vector<std::vector<Output>>& lists,
                                     const std::vector<Output>& keep_inputs, std::int64_t batch_size,
                                     const BatchOptions& options = {});

struct ShuffleBatchOptions {
  int num_threads = 1;
  // Seed of the choices, together with the name.
  std::int64_t seed = 0;
  bool enqueue_many = false;
  std::vector<Dims> shapes = {};
  bool allow_smaller_final_batch = false;
  std::string_view name = {};
};
// Like batch, with random elements among those that wait. At least min_after_dequeue elements stay until the input has
// ended. At most `capacity` wait, which must be more. A large min_after_dequeue mixes well and starts late.
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

// The same with names. The results have the names and the order of the arguments, as an Estimator's InputResult holds
// them. Lists of a join must have the same names, in any order.
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
