// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/input_feed.h"

#include <fmt/core.h>

#include "belay/ops/control.h"
#include "belay/ops/queues.h"
#include "runtime/data/queue_runner.h"
#include "runtime/platform/process/signal_stack.h"
#include "runtime/platform/text/text.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

namespace {

void check_position(const Position& position) {
  if (position.epoch < 0 || position.index < 0)
    fail(Code::kInvalidArgument, fmt::format("[B3002] the position has epoch {} and index {}; both count from 0",
                                             position.epoch, position.index));
}

// Calls spec. Returns its declaration in the order of the slots.
InputDeclaration declared_by(PluginInstance& input, const SchemaOptions& options) {
  InputDeclaration declaration;
  declaration.use = options.use;
  declaration.learned = options.learned.get();
  declaration.own.plugin = input.plugin().info.name;
  declaration.own.options = options.options;
  input.call("spec", &belay_input_api::spec, to_handle(&declaration));
  if (declaration.own.components.empty())
    fail(Code::kInvalidArgument, fmt::format("[B3003] {} declares no features", input.label()));
  return declaration;
}

SchemaMatch matched(const InputDeclaration& declaration, const InputFeed::Options& options) {
  const SchemaOptions& schema = options.schema;
  if (schema.learned == nullptr) return unmatched(declaration.own);
  SchemaMatch match =
      match_schema(*schema.learned, declaration.own,
                   {.name = options.name, .use = schema.use, .written = schema.written, .said = schema.said});
  if (!match.problems.empty()) throw SchemaMismatch(match.problems);
  return match;
}

}  // namespace

SchemaMismatch::SchemaMismatch(std::vector<std::string> problems)
    : Error(Code::kInvalidArgument, joined(problems, "; ")), problems_(std::move(problems)) {}

InputFeed::InputFeed(PluginInstance& input, Options options)
    : input_(&input), options_(std::move(options)), batch_(declaration_.own.components, pool_) {}

std::vector<InputComponent> InputFeed::declaration_of(PluginInstance& input, const Options& options) {
  return matched(declared_by(input, options.schema), options).components;
}

Schema InputFeed::learned_by(PluginInstance& input, const std::vector<PluginOption>& options) {
  SchemaOptions schema;
  schema.options = options;
  return declared_by(input, schema).own;
}

std::shared_ptr<InputFeed> InputFeed::open(PluginInstance& input, Options options) {
  std::shared_ptr<InputFeed> feed(new InputFeed(input, std::move(options)));
  feed->declaration_ = declared_by(input, feed->options_.schema);
  feed->match_ = matched(feed->declaration_, feed->options_);
  input.call("open", &belay_input_api::open, feed->options_.shard, feed->options_.shards, feed->options_.seed);
  return feed;
}

Schema InputFeed::schema() const {
  Schema schema = declaration_.own;
  schema.components = match_.components;
  return schema;
}

std::vector<DeclaredLabel> InputFeed::labels() const {
  std::vector<DeclaredLabel> labels = declared_labels(schema());
  if (options_.schema.learned == nullptr) return labels;
  const std::vector<DeclaredLabel> trained = declared_labels(*options_.schema.learned);
  const bool only_one = labels.size() == 1 && trained.size() == 1;
  for (DeclaredLabel& label : labels)
    for (const DeclaredLabel& t : trained) {
      if (!only_one && t.name != label.name) continue;
      label.class_counts = t.class_counts;
      label.mean = t.mean, label.deviation = t.deviation;
      label.log_mean = t.log_mean, label.log_deviation = t.log_deviation;
    }
  return labels;
}

// The new instance has to deliver the tensors for which the graph was built.
void InputFeed::reopen(PluginInstance& input, std::int64_t shard, std::int64_t shards,
                       std::shared_ptr<const Schema> learned) {
  if (busy())
    fail(Code::kFailedPrecondition,
         fmt::format("[B3006] input '{}' still works for an earlier session", options_.name));
  options_.schema.learned = learned != nullptr ? std::move(learned) : std::make_shared<const Schema>(schema());
  declaration_ = declared_by(input, options_.schema);
  match_ = matched(declaration_, options_);
  options_.shard = shard, options_.shards = shards;
  input.call("open", &belay_input_api::open, shard, shards, options_.seed);
  input_ = &input;
  primed_.reset();
  last_ = {};
  used_ = pass_done_ = false;
  begun_again_ = false;
}

std::int64_t InputFeed::size() const {
  std::int64_t examples = -1;
  try {
    const auto take = [&] {
      if (examples < -1)
        fail(Code::kInvalidArgument,
             fmt::format("[B3003] it returned {} examples; -1 means that it does not know", examples));
    };
    input_->call_and_take("size", &belay_input_api::size, take, &examples);
  } catch (const Error& e) {
    if (e.code() != Code::kUnimplemented) throw;
    return -1;
  }
  return examples;
}

bool InputFeed::next(QueueElement& element) {
  used_ = true;
  batch_.begin(std::move(element.components));
  position_.clear();
  try {
    const auto take = [&] {
      element.components = batch_.finish();
      match_.arrange(element.components, *pool_);
      position_.take(element.position);
      check_position(element.position);
    };
    input_->call_and_take("next", &belay_input_api::next, take, to_handle(&batch_), &position_.raw);
  } catch (const Error& e) {
    if (e.code() == Code::kOutOfRange) return false;
    // A training has begun to read its data when they break off. Those of an evaluation or a prediction were given.
    if (e.code() != Code::kDataLoss || options_.schema.use == InputUse::kTraining) throw;
    fail(Code::kInvalidArgument, std::string(e.message()));
  }
  look_at(element.position);
  if (pass_done_) begun_again_.store(true, std::memory_order_relaxed);
  pass_done_ = element.position.epoch > 0;
  element.input = &options_.name;
  return true;
}

void InputFeed::look_at(const Position& position) {
  const auto at = [](const Position& p) { return std::pair(p.epoch, p.index); };
  const bool by_number = position.bytes.empty() && last_.bytes.empty();
  const bool moved = by_number ? at(last_) < at(position) : at(last_) != at(position) || last_.bytes != position.bytes;
  if (!moved && !position_told_ && options_.schema.use == InputUse::kTraining) {
    position_told_ = true;
    const auto text = [](const Position& p) { return fmt::format("{{{}, {}}}", p.epoch, p.index); };
    input_->warn(input_->label() + " in next: its position went from " + text(last_) + " to " + text(position) +
                 ", so a resumed run gets other batches than this one");
  }
  last_ = position;
}

void InputFeed::prime() {
  if (primed_) return;
  QueueElement first;
  if (!next(first))
    fail(Code::kFailedPrecondition,
         fmt::format("[B3005] {} is empty: it ended before the first batch", input_->label()));
  primed_ = std::move(first);
}

InputFeed::Tensors InputFeed::add_to_graph(NodeGraph& graph) {
  const belay::Graph g = graph.handle();
  const auto scope = g.scope(kInputScope);
  std::vector<ops::QueueComponent> carried;
  for (const InputComponent& c : components()) carried.push_back({c.dtype, c.dims, true});
  const ops::QueueRef queue = ops::fifo_queue(g, options_.prefetch, carried, options_.name + "_queue");
  const std::vector<Output> outputs = ops::dequeue(queue, options_.name + "_batch");
  Tensors tensors;
  tensors.batch = outputs[0];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const InputComponent& c = components()[i];
    const Output tensor = ops::identity(outputs[i], c.name);
    g.collect(collections::kInputBatch, tensor);
    if (c.name == kIdName) tensors.id = tensor;
    if (is_only_an_id(components(), c)) continue;
    (c.label ? tensors.labels : tensors.features).push_back({c.name, tensor, c.classes});
  }
  queue_name_ = g.node_name_of(queue.handle);
  queue_node_ = queue.handle.raw().node;
  graph.add_queue_runner(shared_from_this());
  return tensors;
}

std::vector<std::shared_ptr<Joinable>> InputFeed::create_threads(const belay::Session& handle,
                                                                 Coordinator* coordinator) {
  DirectSession& session = from_handle(handle.raw());
  if (thread_ != nullptr && !thread_->join_for(0)) {
    if (running_for_ == &session) return {};
    fail(Code::kFailedPrecondition,
         fmt::format("[B3006] input '{}' still works for an earlier session", options_.name));
  }
  const auto positions = session.store().positions();
  const auto at = positions.find(options_.name);
  const Position start = at == positions.end() ? Position{} : at->second;
  const bool from_start = start.epoch == 0 && start.index == 0 && start.bytes.empty();
  if (!from_start || (used_ && !primed_)) {
    primed_.reset();
    pass_done_ = false;
    begun_again_ = false;
    seek(start);
  }
  used_ = true;  // true even if this session fails: it may interrupt the plugin
  running_for_ = &session;
  // The thread that ends the other one starts first. If the other cannot start, the coordinator ends this one.
  const std::shared_ptr<Joinable> closing = coordinator == nullptr ? nullptr : close_on_stop(session, *coordinator);
  thread_ = std::make_shared<Thread>("QueueRunnerThread-" + queue_name_,
                                     [self = shared_from_this(), shared = session.shared_from_this(),
                                      node = queue_node_] { self->fill(shared->queue(node), shared->clock()); });
  if (coordinator == nullptr) return {thread_};
  coordinator->register_thread(thread_);
  return {thread_, closing};
}

std::shared_ptr<Joinable> InputFeed::close_on_stop(DirectSession& session, Coordinator& coordinator) {
  const auto closing = std::make_shared<Thread>("QueueRunnerThread-" + queue_name_ + "-close_on_stop",
                                                [self = shared_from_this(), shared = session.shared_from_this(),
                                                 node = queue_node_, waits_for = coordinator.shared_from_this()] {
                                                  waits_for->wait_for_stop(-1);
                                                  shared->queue(node).close(true);
                                                  self->input_->interrupt();
                                                });
  closing->set_waiting([self = shared_from_this()] {
    return self->input_->interrupting() ? " (" + self->input_->label() + " in interrupt, which must not wait)" : "";
  });
  coordinator.register_thread(closing);
  return closing;
}

void InputFeed::seek(const Position& position) {
  input_->uninterrupted();
  last_ = position;
  position_.set(position);
  input_->call("seek", &belay_input_api::seek, static_cast<const belay_position*>(&position_.raw));
}

std::vector<std::vector<DenseTensor>> InputFeed::batches_behind(const Position& position, std::size_t count) {
  primed_.reset();
  pass_done_ = false;
  seek(position);
  std::vector<std::vector<DenseTensor>> batches;
  for (QueueElement element; batches.size() < count && next(element);) batches.push_back(std::move(element.components));
  return batches;
}

void InputFeed::rewind() {
  if (used_ && !primed_) seek({});
}

void InputFeed::fill_queue(DirectSession& session) {
  in_pass_ = true;
  fill(queue_of(session), session.clock());
  in_pass_ = false;
}

void InputFeed::fill(Queue& queue, Clock& clock) {
  const SignalStack stack;  // so that an overflow in the plugin is named, too
  // Closing the queue ends a wait here. The session's cancellation is for its runs.
  CancellationSource never;
  const CancelToken cancel(never, clock);
  try {
    if (primed_) {
      QueueElement first = std::move(*primed_);
      primed_.reset();
      queue.enqueue(std::move(first), cancel);
    }
    while (!queue.closed()) {
      QueueElement element = queue.spare();
      if (!next(element)) {
        queue.close(false);
        return;
      }
      queue.enqueue(std::move(element), cancel);
    }
  } catch (...) {
    const Error e = filling_error(queue.name(), input_->label());
    // If the queue was closed, that is the normal end of this thread. The readers get any other error.
    if (!(e.code() == Code::kCancelled && queue.closed())) queue.close_with_error(e);
  }
}

}  // namespace belay::runtime
