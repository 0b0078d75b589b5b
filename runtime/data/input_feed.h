// SPDX-License-Identifier: Apache-2.0
// An input plugin in a run: what it declares, its queue in the graph, and the thread that keeps the queue full.
//
//   auto feed = InputFeed::open(instance, {.name = "train"});        // spec and open; fails where a file is missing
//   feed->prime();                                                   // the first batch: an empty input shows here
//   InputFeed::Tensors t = feed->add_to_graph(graph);                // a queue, its dequeue, a queue runner
//
// Every batch carries through the queue where the input is after it; the run that takes the batch commits that
// position with its writes. A session that starts seeks the input to the committed position first.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "belay/detail/raw_position.h"
#include "belay/model.h"
#include "runtime/data/input_service.h"
#include "runtime/graph/queue_runner.h"
#include "runtime/loader/instance.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

// The scope of an input's tensors in the graph: the feature or label "x" is the node "input/x".
inline constexpr const char* kInputScope = "input";

// An input that does not match the training's schema: INVALID_ARGUMENT.
class SchemaMismatch : public Error {
 public:
  explicit SchemaMismatch(std::vector<std::string> problems);
  // Each a sentence.
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// What an input is matched with.
struct SchemaOptions {
  InputUse use = InputUse::kTraining;
  std::shared_ptr<const Schema> learned = {};  // the training's; null: none is known, and nothing is compared
  std::set<std::string> written = {};          // options that the input sets otherwise than the training did
  std::vector<PluginOption> options = {};      // those of this input that others inherit
  std::set<std::string> said = {};             // those of them that its own section sets
};

class InputFeed final : public QueueRunner, public std::enable_shared_from_this<InputFeed> {
 public:
  struct Options {
    std::string name;           // of the manifest's [input.NAME]
    std::int64_t prefetch = 2;  // batches in the queue
    std::int64_t shard = 0;
    std::int64_t shards = 1;
    std::uint64_t seed = 42;
    SchemaOptions schema = {};
  };
  // What the input declares, matched with the training's schema: calls spec, once for an instance. INVALID_ARGUMENT: it
  // declares nothing; SchemaMismatch.
  static std::vector<InputComponent> declaration_of(PluginInstance& input, const Options& options);
  // What a training on this input would learn of its data by itself. Calls spec, once for an instance.
  static Schema learned_by(PluginInstance& input, const std::vector<PluginOption>& options);
  // Calls spec and open; errors as above. The instance must outlive the feed and needs a CallMonitor of its own: the
  // feeding thread calls it too.
  static std::shared_ptr<InputFeed> open(PluginInstance& input, Options options);

  // In the training's order where its schema is known, with its names of columns and classes.
  const std::vector<InputComponent>& components() const noexcept { return match_.components; }
  // Sentences for a warning: what has no names here or in the training, and so is not matched by them.
  const std::vector<std::string>& taken_by_place() const noexcept { return match_.by_place; }
  // What a model that is trained on this input learned of its data.
  Schema schema() const;
  // Examples in one epoch; -1: the input cannot say.
  std::int64_t size() const;
  // Whether it has begun a second pass over its examples, as the positions of its batches say. Any thread; it may be
  // ahead of what is read by the batches in the queue.
  bool begun_again() const noexcept { return begun_again_.load(std::memory_order_relaxed); }
  // Goes on with another instance of the same plugin, and another shard, from the next session on. `learned`: what it
  // is matched with from here on; null: what this one has declared. While no thread feeds it: FAILED_PRECONDITION.
  void reopen(PluginInstance& input, std::int64_t shard, std::int64_t shards,
              std::shared_ptr<const Schema> learned = nullptr);
  // Fetches the first batch ahead. FAILED_PRECONDITION where there is none; what next() fails with otherwise.
  void prime();
  // What prime() fetched, in the order of components(); null where there is none, or it is in the queue already.
  const std::vector<DenseTensor>* first_batch() const noexcept { return primed_ ? &primed_->components : nullptr; }

  struct Tensors {
    std::vector<NamedOutput> features;  // for the model, as labels are: without what is only an id
    std::vector<NamedOutput> labels;
    Output id;     // of kIdName; empty: the input has none
    Output batch;  // of the dequeue: a run that reaches it takes a batch
  };
  // Adds the queue and its dequeue under the scope kInputScope, and itself as a queue runner of the graph.
  Tensors add_to_graph(NodeGraph& graph);

  // The next batches behind a position, fewer where the input ends: for who looks at its examples without a session.
  // While no thread feeds it, and no session is to.
  std::vector<std::vector<DenseTensor>> batches_behind(const Position& position, std::size_t count);

  // For who goes over the input again and again with a thread of its own (input_passes.h). Seeks the input to its
  // start, while no thread feeds it.
  void rewind();
  // Fills the session's queue, which is open and empty, until the input has ended or the queue is closed. What fails
  // reaches the queue's readers.
  void fill_queue(DirectSession& session);
  Queue& queue_of(DirectSession& session) const { return session.queue(queue_node_); }

  const std::string& name() const override { return queue_name_; }
  std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session& session,
                                                        Coordinator* coordinator) override;
  // True while a thread is inside the plugin: its instance must not be destroyed then.
  bool busy() const { return in_pass_ || (thread_ != nullptr && !thread_->join_for(0)); }

 private:
  InputFeed(PluginInstance& input, Options options);
  // One batch into `element`; false at the end.
  bool next(QueueElement& element);
  void fill(Queue& queue, Clock& clock);
  void seek(const Position& position);
  // Warns once of a position at which a resumed training would not go on behind the batch.
  void look_at(const Position& position);
  // A thread that closes the queue and interrupts the plugin when the coordinator stops.
  std::shared_ptr<Joinable> close_on_stop(DirectSession& session, Coordinator& coordinator);

  PluginInstance* input_;
  Options options_;
  InputDeclaration declaration_;  // in the order of the slots
  SchemaMatch match_;
  std::shared_ptr<BufferPool> pool_ = BufferPool::make();
  BatchBuilder batch_;
  detail::RawPosition position_;        // as it crosses, of the call that is being made
  std::optional<QueueElement> primed_;  // the batch at position 0
  bool used_ = false;                   // the plugin may have moved from its start, or been interrupted
  bool pass_done_ = false;              // by the position of its last batch
  Position last_;                       // where the next batch begins
  bool position_told_ = false;
  std::atomic<bool> begun_again_{false};
  std::string queue_name_;
  std::uint32_t queue_node_ = 0;
  const DirectSession* running_for_ = nullptr;
  std::shared_ptr<Thread> thread_;
  std::atomic<bool> in_pass_{false};  // a thread is in fill_queue
};

}  // namespace belay::runtime
