// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/queue_inputs.h"

#include <fmt/core.h>

#include <glob.h>

#include <algorithm>
#include <set>
#include <utility>

#include "belay/nearest.h"
#include "belay/ops/math.h"
#include "belay/ops/shape.h"
#include "belay/ops/summaries.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {
namespace {

using Lists = std::vector<std::vector<Output>>;

std::string_view name_or(std::string_view name, std::string_view function) { return name.empty() ? function : name; }

// Summarizes how full a queue is, from 0 to 1, if `least` of its elements do not count.
void summarize_fill(const QueueRef& q, const std::string& tag, std::int64_t capacity, std::int64_t least = 0) {
  const Graph g = q.handle.graph();
  const std::string queue = g.node_name_of(q.handle);
  const Output size = cast(queue_size(q, "size"), DType::kFloat32);
  const Output over = maximum(size - static_cast<double>(least), scalar(g, 0, DType::kFloat32));
  scalar_summary(queue.substr(0, queue.rfind('/') + 1) + tag, over * (1.0 / static_cast<double>(capacity - least)));
}

// ---- producers

// Returns the next number of a count that ends at `limit`, or never.
Output next_epoch(const Graph& g, std::optional<std::int64_t> limit) {
  if (limit && *limit < 1)
    fail(Code::kInvalidArgument,
         fmt::format("[B5054] num_epochs must be at least 1, got {}; leave it out for an input that does not end",
                     *limit));
  const Output epochs = variable(g, "epochs", Tensor(std::int64_t{0}), VariableKind::kLocal);
  if (limit) return count_up_to(epochs, *limit, "next_epoch");
  return assign_add(epochs, constant(g, Tensor(std::int64_t{1})), "next_epoch");
}

QueueComponent row_of(const Output& rows) {
  const Dims dims = rows.dims();
  if (rows.rank() < 1 || std::any_of(dims.begin() + 1, dims.end(), [](std::int64_t d) { return d < 0; }))
    fail(Code::kInvalidArgument,
         "[B5054] a producer needs rows of a known shape, got " + rows.text() + "; use ops::reshape before it");
  if (dims[0] == 0)
    fail(Code::kInvalidArgument, "[B5054] a producer needs at least one row, " + rows.text() + " has none");
  return {rows.dtype(), Dims(dims.begin() + 1, dims.end())};
}

QueueRef produce(const std::vector<Output>& tensors, const ProducerOptions& o, std::string_view name) {
  std::vector<QueueComponent> components;
  for (const Output& t : tensors) components.push_back(row_of(t));
  const Graph g = tensors.front().graph();
  const auto scope = g.scope(name);
  const std::vector<Output> rows = epoch_rows(next_epoch(g, o.num_epochs), tensors, o.shuffle, o.seed, "rows");
  QueueRef q = fifo_queue(g, o.capacity, components, "queue");
  add_queue_runner(g, {.queue = q, .enqueue_ops = {enqueue_many(q, rows, "enqueue")}});
  summarize_fill(q, fmt::format("fraction_of_{}_full", o.capacity), o.capacity);
  return q;
}

// ---- batches

// batch, shuffle_batch and their joins share this.
struct Stage {
  const char* function;
  std::int64_t batch_size;
  int num_threads;
  std::int64_t capacity;
  bool enqueue_many;
  const std::vector<Dims>& shapes;
  bool allow_smaller_final_batch;
  std::string_view name;
  bool pads = false;
  bool shuffles = false;
  std::int64_t min_after_dequeue = 0;
  std::int64_t seed = 0;

  [[noreturn]] void refuse(const std::string& what) const {
    fail(Code::kInvalidArgument, fmt::format("[B5054] {}{}", function, ": " + what));
  }
};

void check_lists(const Lists& lists, const std::vector<Output>& keeps, const Stage& s) {
  if (lists.empty()) s.refuse("there is no list of tensors");
  if (lists.front().empty()) s.refuse("there are no tensors");
  for (const std::vector<Output>& list : lists) {
    if (list.size() != lists.front().size())
      s.refuse(fmt::format("the lists have {} and {} tensors; they must be equal", lists.front().size(), list.size()));
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].dtype() != lists.front()[i].dtype())
        s.refuse(lists.front()[i].text() + " and " + list[i].text() + " become one tensor; their types must be equal");
  }
  if (!keeps.empty() && keeps.size() != lists.size())
    s.refuse(fmt::format("there are {} keep_inputs for {} lists; each has its own", keeps.size(), lists.size()));
  if (s.num_threads < 1) s.refuse(fmt::format("num_threads must be at least 1, got {}", s.num_threads));
  if (!s.shapes.empty() && s.shapes.size() != lists.front().size())
    s.refuse(fmt::format("there are {} shapes for {} tensors", s.shapes.size(), lists.front().size()));
}

// The dims of an element of `x`.
Dims element_dims(const Output& x, const Stage& s) {
  if (x.rank() < 0) s.refuse("Cannot infer the rank of " + x.text() + "; set shapes");
  Dims dims = x.dims();
  if (!s.enqueue_many) return dims;
  if (dims.empty()) s.refuse(x.text() + " is no batch, whose rows enqueue_many could take");
  dims.erase(dims.begin());
  return dims;
}

// All lists agree on this form of tensor i.
Dims merged_dims(const Lists& lists, std::size_t i, const Stage& s) {
  Dims merged = element_dims(lists.front()[i], s);
  for (const std::vector<Output>& list : lists) {
    const Dims dims = element_dims(list[i], s);
    bool fits = dims.size() == merged.size();
    for (std::size_t d = 0; fits && d < dims.size(); ++d) {
      fits = dims[d] < 0 || merged[d] < 0 || dims[d] == merged[d];
      if (s.pads ? dims[d] < 0 : merged[d] < 0) merged[d] = dims[d];
    }
    if (!fits) s.refuse("the shapes of " + lists.front()[i].text() + " and " + list[i].text() + " do not agree");
  }
  return merged;
}

std::vector<QueueComponent> components_of(const Lists& lists, const Stage& s) {
  std::vector<QueueComponent> components;
  for (std::size_t i = 0; i < lists.front().size(); ++i) {
    const Dims dims = s.shapes.empty() ? merged_dims(lists, i, s) : s.shapes[i];
    if (!s.pads && std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; }))
      s.refuse("an element of " + lists.front()[i].text() + " has dimensions that are not known, " + dims_text(dims) +
               "; set shapes" + (s.shuffles ? "" : ", or dynamic_pad where elements differ"));
    components.push_back({lists.front()[i].dtype(), dims});
  }
  return components;
}

QueueRef make_queue(const Graph& g, const std::vector<QueueComponent>& components, const Stage& s) {
  if (s.shuffles) return random_shuffle_queue(g, s.capacity, s.min_after_dequeue, components, s.seed, "queue");
  return s.pads ? padding_fifo_queue(g, s.capacity, components, "queue")
                : fifo_queue(g, s.capacity, components, "queue");
}

Output enqueue_list(const QueueRef& q, const std::vector<Output>& list, const Output& keep, bool many) {
  if (!keep) return many ? enqueue_many(q, list, "enqueue") : enqueue(q, list, "enqueue");
  return many ? enqueue_many_if(q, keep, list, "enqueue") : enqueue_if(q, keep, list, "enqueue");
}

// keeps: empty, or one flag for each list.
std::vector<Output> batched(const Lists& lists, const std::vector<Output>& keeps, const Stage& s) {
  check_lists(lists, keeps, s);
  const std::vector<QueueComponent> components = components_of(lists, s);
  const Graph g = lists.front().front().graph();
  const auto scope = g.scope(name_or(s.name, s.function));
  const QueueRef q = make_queue(g, components, s);
  QueueRunner runner{.queue = q, .enqueue_ops = {}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Output put = enqueue_list(q, lists[i], keeps.empty() ? Output() : keeps[i], s.enqueue_many);
    runner.enqueue_ops.insert(runner.enqueue_ops.end(), static_cast<std::size_t>(s.num_threads), put);
  }
  add_queue_runner(g, runner);
  const std::string least = std::to_string(s.min_after_dequeue);
  const std::string rest = std::to_string(s.capacity - s.min_after_dequeue);
  summarize_fill(q, s.shuffles ? "fraction_over_" + least + "_of_" + rest + "_full" : "fraction_of_" + rest + "_full",
                 s.capacity, s.min_after_dequeue);
  return s.allow_smaller_final_batch ? dequeue_up_to(q, s.batch_size, "dequeue")
                                     : dequeue_many(q, s.batch_size, "dequeue");
}

Stage stage(const char* function, std::int64_t batch_size, const BatchOptions& o) {
  return {.function = function,
          .batch_size = batch_size,
          .num_threads = o.num_threads,
          .capacity = o.capacity,
          .enqueue_many = o.enqueue_many,
          .shapes = o.shapes,
          .allow_smaller_final_batch = o.allow_smaller_final_batch,
          .name = o.name,
          .pads = o.dynamic_pad};
}
Stage stage(const char* function, std::int64_t batch_size, std::int64_t capacity, std::int64_t min_after_dequeue,
            const ShuffleBatchOptions& o) {
  return {.function = function,
          .batch_size = batch_size,
          .num_threads = o.num_threads,
          .capacity = capacity,
          .enqueue_many = o.enqueue_many,
          .shapes = o.shapes,
          .allow_smaller_final_batch = o.allow_smaller_final_batch,
          .name = o.name,
          .shuffles = true,
          .min_after_dequeue = min_after_dequeue,
          .seed = o.seed};
}

std::vector<Output> joined(const Lists& lists, const std::vector<Output>& keeps, const Stage& s) {
  if (s.num_threads != 1) s.refuse("each list has a thread; leave num_threads out");
  return batched(lists, keeps, s);
}

std::vector<Output> with_keep(const Output& keep, const char* function) {
  if (!keep) fail(Code::kInvalidArgument, fmt::format("[B5054] {}: keep_input is empty", function));
  return {keep};
}

// ---- named tensors

std::vector<Output> outputs_of(const std::vector<NamedOutput>& tensors) {
  std::vector<Output> outputs;
  for (const NamedOutput& t : tensors) outputs.push_back(t.output);
  return outputs;
}

std::vector<NamedOutput> with_names(std::vector<NamedOutput> tensors, const std::vector<Output>& outputs) {
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].output = outputs[i];
  return tensors;
}

// Returns the outputs in the order of the first list's names.
std::vector<Output> outputs_like(const std::vector<NamedOutput>& first, const std::vector<NamedOutput>& list) {
  std::vector<std::string> names;
  for (const NamedOutput& t : list) names.push_back(t.name);
  std::vector<Output> outputs;
  for (const NamedOutput& wanted : first) {
    const auto at = std::find(names.begin(), names.end(), wanted.name);
    if (at == names.end())
      fail(Code::kInvalidArgument, "[B5054] a list to join has no tensor '" + wanted.name +
                                       "', which the first one has" + did_you_mean(wanted.name, names));
    outputs.push_back(list[static_cast<std::size_t>(at - names.begin())].output);
  }
  if (list.size() != first.size())
    fail(Code::kInvalidArgument,
         fmt::format("[B5054] a list to join has {} tensors, the first one has {}; their names must be equal",
                     list.size(), first.size()));
  return outputs;
}

const std::vector<NamedOutput>& first_of(const std::vector<std::vector<NamedOutput>>& lists) {
  if (lists.empty()) fail(Code::kInvalidArgument, "[B5054] there is no list of tensors to join");
  return lists.front();
}

Lists outputs_of(const std::vector<std::vector<NamedOutput>>& lists) {
  Lists outputs;
  for (const std::vector<NamedOutput>& list : lists) outputs.push_back(outputs_like(first_of(lists), list));
  return outputs;
}

}  // namespace

Output limit_epochs(const Output& x, std::optional<std::int64_t> num_epochs, std::string_view name) {
  if (!num_epochs) return x;
  const Graph g = x.graph();
  const auto scope = g.scope(name_or(name, "limit_epochs"));
  const Graph::ControlScope after(g, {next_epoch(g, num_epochs)});
  return identity(x);
}

QueueRef input_producer(const Output& rows, const ProducerOptions& options) {
  return produce({rows}, options, name_or(options.name, "input_producer"));
}
QueueRef string_input_producer(const Graph& g, const std::vector<std::string>& strings,
                               const ProducerOptions& options) {
  if (strings.empty()) fail(Code::kInvalidArgument, "[B5054] string_input_producer: there is no string to produce");
  const std::vector<std::string_view> views(strings.begin(), strings.end());
  return string_input_producer(constant(g, Tensor({static_cast<std::int64_t>(views.size())}, views), "strings"),
                               options);
}
QueueRef string_input_producer(const Output& strings, const ProducerOptions& options) {
  if (strings.dtype() != DType::kString || strings.rank() != 1)
    fail(Code::kInvalidArgument, "[B5054] string_input_producer needs a vector of strings, got " + strings.text());
  return produce({strings}, options, name_or(options.name, "string_input_producer"));
}
QueueRef range_input_producer(const Graph& g, std::int64_t limit, const ProducerOptions& options) {
  if (limit < 1 || limit > 1'000'000'000)
    fail(Code::kInvalidArgument,
         fmt::format("[B5054] range_input_producer: limit must be from 1 to 1000000000, got {}", limit));
  return produce({range(g, 0, static_cast<double>(limit))}, options, name_or(options.name, "range_input_producer"));
}
std::vector<Output> slice_input_producer(const std::vector<Output>& tensors, const ProducerOptions& options) {
  if (tensors.empty()) fail(Code::kInvalidArgument, "[B5054] slice_input_producer: there are no tensors");
  const auto scope = tensors.front().graph().scope(name_or(options.name, "slice_input_producer"));
  return dequeue(produce(tensors, options, "input_producer"), "dequeue");
}

Output match_filenames_once(const Graph& g, const std::vector<std::string>& patterns, std::string_view name) {
  std::set<std::string> names;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const int status = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
    for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) names.insert(found.gl_pathv[i]);
    globfree(&found);
    if (status != 0 && status != GLOB_NOMATCH)
      fail(Code::kUnavailable, "[B5054] match_filenames_once: the folders of \"" + pattern + "\" cannot be read");
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return constant(g, Tensor({static_cast<std::int64_t>(views.size())}, views), name_or(name, "matching_filenames"));
}

std::vector<Output> batch(const std::vector<Output>& tensors, std::int64_t batch_size, const BatchOptions& options) {
  return batched({tensors}, {}, stage("batch", batch_size, options));
}
std::vector<Output> maybe_batch(const std::vector<Output>& tensors, const Output& keep_input, std::int64_t batch_size,
                                const BatchOptions& options) {
  return batched({tensors}, with_keep(keep_input, "maybe_batch"), stage("maybe_batch", batch_size, options));
}
std::vector<Output> batch_join(const std::vector<std::vector<Output>>& lists, std::int64_t batch_size,
                               const BatchOptions& options) {
  return joined(lists, {}, stage("batch_join", batch_size, options));
}
std::vector<Output> maybe_batch_join(const std::vector<std::vector<Output>>& lists,
                                     const std::vector<Output>& keep_inputs, std::int64_t batch_size,
                                     const BatchOptions& options) {
  if (keep_inputs.empty()) fail(Code::kInvalidArgument, "[B5054] maybe_batch_join: there are no keep_inputs");
  return joined(lists, keep_inputs, stage("maybe_batch_join", batch_size, options));
}
std::vector<Output> shuffle_batch(const std::vector<Output>& tensors, std::int64_t batch_size, std::int64_t capacity,
                                  std::int64_t min_after_dequeue, const ShuffleBatchOptions& options) {
  return batched({tensors}, {}, stage("shuffle_batch", batch_size, capacity, min_after_dequeue, options));
}
std::vector<Output> maybe_shuffle_batch(const std::vector<Output>& tensors, const Output& keep_input,
                                        std::int64_t batch_size, std::int64_t capacity, std::int64_t min_after_dequeue,
                                        const ShuffleBatchOptions& options) {
  return batched({tensors}, with_keep(keep_input, "maybe_shuffle_batch"),
                 stage("maybe_shuffle_batch", batch_size, capacity, min_after_dequeue, options));
}
std::vector<Output> shuffle_batch_join(const std::vector<std::vector<Output>>& lists, std::int64_t batch_size,
                                       std::int64_t capacity, std::int64_t min_after_dequeue,
                                       const ShuffleBatchOptions& options) {
  return joined(lists, {}, stage("shuffle_batch_join", batch_size, capacity, min_after_dequeue, options));
}
std::vector<Output> maybe_shuffle_batch_join(const std::vector<std::vector<Output>>& lists,
                                             const std::vector<Output>& keep_inputs, std::int64_t batch_size,
                                             std::int64_t capacity, std::int64_t min_after_dequeue,
                                             const ShuffleBatchOptions& options) {
  if (keep_inputs.empty()) fail(Code::kInvalidArgument, "[B5054] maybe_shuffle_batch_join: there are no keep_inputs");
  return joined(lists, keep_inputs,
                stage("maybe_shuffle_batch_join", batch_size, capacity, min_after_dequeue, options));
}

std::vector<NamedOutput> batch(const std::vector<NamedOutput>& tensors, std::int64_t batch_size,
                               const BatchOptions& options) {
  return with_names(tensors, batch(outputs_of(tensors), batch_size, options));
}
std::vector<NamedOutput> maybe_batch(const std::vector<NamedOutput>& tensors, const Output& keep_input,
                                     std::int64_t batch_size, const BatchOptions& options) {
  return with_names(tensors, maybe_batch(outputs_of(tensors), keep_input, batch_size, options));
}
std::vector<NamedOutput> batch_join(const std::vector<std::vector<NamedOutput>>& lists, std::int64_t batch_size,
                                    const BatchOptions& options) {
  return with_names(first_of(lists), batch_join(outputs_of(lists), batch_size, options));
}
std::vector<NamedOutput> shuffle_batch(const std::vector<NamedOutput>& tensors, std::int64_t batch_size,
                                       std::int64_t capacity, std::int64_t min_after_dequeue,
                                       const ShuffleBatchOptions& options) {
  return with_names(tensors, shuffle_batch(outputs_of(tensors), batch_size, capacity, min_after_dequeue, options));
}
std::vector<NamedOutput> maybe_shuffle_batch(const std::vector<NamedOutput>& tensors, const Output& keep_input,
                                             std::int64_t batch_size, std::int64_t capacity,
                                             std::int64_t min_after_dequeue, const ShuffleBatchOptions& options) {
  return with_names(
      tensors, maybe_shuffle_batch(outputs_of(tensors), keep_input, batch_size, capacity, min_after_dequeue, options));
}
std::vector<NamedOutput> shuffle_batch_join(const std::vector<std::vector<NamedOutput>>& lists, std::int64_t batch_size,
                                            std::int64_t capacity, std::int64_t min_after_dequeue,
                                            const ShuffleBatchOptions& options) {
  return with_names(first_of(lists),
                    shuffle_batch_join(outputs_of(lists), batch_size, capacity, min_after_dequeue, options));
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
