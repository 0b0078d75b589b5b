// SPDX-License-Identifier: Apache-2.0
// An input plugin in a run: its declaration, its queue in the graph, and the thread that keeps the queue full.
//
//   auto feed = InputFeed::open(instance, {.name = "train"});        // spec and open; fails if a file is missing
//   feed->prime();                                                   // the first batch: an empty input shows here
//   InputFeed::Tensors t = feed->add_to_graph(graph);                // a queue, its dequeue, a queue runner
//
// Every batch in the queue has the input's position after it. When a run takes the batch, it commits that position with
// its writes. A new session first seeks the input to the committed position.
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
#include "runtime/loader/instance/instance.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

// The scope of an input's tensors in the graph: the feature or label "x" is the node "input/x".
inline constexpr const char* kInputScope = "input";

// INVALID_ARGUMENT: an input does not match the training's schema.
class SchemaMismatch : public Error {
 public:
  explicit SchemaMismatch(std::vector<std::string> problems);
  // Each problem is a sentence.
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// The options for matching an input.
struct SchemaOptions {
  InputUse use = InputUse::kTraining;
  std::shared_ptr<const Schema> learned = {};  // the training's; null: it is unknown, and nothing is compared
  std::set<std::string> written = {};          // options that the input sets to other values than the training did
  std::vector<PluginOption> options = {};      // options of this input that others inherit
  std::set<std::string> said = {};             // those of them that its section sets
};

class InputFeed final : public QueueFiller, public std::enable_shared_from_this<InputFeed> {
 public:
  struct Options {
    std::string name;           // of the manifest's [input.NAME]
    std::int64_t prefetch = 2;  // batches in the queue
    std::int64_t shard = 0;
    std::int64_t shards = 1;
    std::uint64_t seed = 42;
    SchemaOptions schema = {};
  };
  // Returns the input's declaration, matched with the training's schema. Calls spec, once for an instance.
  // INVALID_ARGUMENT: it declares nothing; also SchemaMismatch.
  static std::vector<InputComponent> declaration_of(PluginInstance& input, const Options& options);
  // Returns the schema that a training on this input alone would learn. Calls spec, once for an instance.
  static Schema learned_by(PluginInstance& input, const std::vector<PluginOption>& options);
  // Calls spec and open; errors as above. The instance must outlive the feed. It needs a separate CallMonitor, since
  // the feeding thread also calls it.
  static std::shared_ptr<InputFeed> open(PluginInstance& input, Options options);

  // With a known schema they are in the training's order, with its names of columns and classes.
  const std::vector<InputComponent>& components() const noexcept { return match_.components; }
  // Returns sentences for a warning: parts without names, here or in the training, that names cannot match.
  const std::vector<std::string>& taken_by_place() const noexcept { return match_.by_place; }
  // Returns the schema that a model learns from the data of this input.
  Schema schema() const;
  // Returns the labels for a model, with the facts that the training's input kept about them.
  std::vector<DeclaredLabel> labels() const;
  // Returns the examples in one epoch; -1: the input does not know it.
  std::int64_t size() const;
  // True if the positions of its batches show a second pass over its examples. Call it from any thread. It may be ahead
  // of the readers by the batches in the queue.
  bool begun_again() const noexcept { return begun_again_.load(std::memory_order_relaxed); }
  // Continues with another instance of the same plugin, and another shard, from the next session on. `learned` is the
  // schema to match from now on; null: this feed's declaration. FAILED_PRECONDITION: a thread feeds it.
  void reopen(PluginInstance& input, std::int64_t shard, std::int64_t shards,
              std::shared_ptr<const Schema> learned = nullptr);
  // Fetches the first batch early. FAILED_PRECONDITION: there is none. Other errors are those of next().
  void prime();
  // Returns the batch of prime(), in the order of components(). Null: there is none, or it is in the queue already.
  const std::vector<DenseTensor>* first_batch() const noexcept { return primed_ ? &primed_->components : nullptr; }

  struct Tensors {
    std::vector<NamedOutput> features;  // for the model, like labels: without tensors that are only an id
    std::vector<NamedOutput> labels;
    Output id;     // tensor kIdName; empty: the input has none
    Output batch;  // of the dequeue: a run with it takes a batch
  };
  // Adds the queue and its dequeue under the scope kInputScope, and itself as a queue runner of the graph.
  Tensors add_to_graph(NodeGraph& graph);

  // Returns the next batches after a position, fewer if the input ends. It is for callers that want examples without a
  // session. Call it only if no thread feeds it and no session will.
  std::vector<std::vector<DenseTensor>> batches_behind(const Position& position, std::size_t count);

  // For callers that read the input again and again with a separate thread (input_passes.h). Seeks the input to its
  // start. No thread may feed it then.
  void rewind();
  // Fills the session's queue, which is open and empty, until the input has ended or the queue is closed. Errors reach
  // the queue's readers.
  void fill_queue(DirectSession& session);
  Queue& queue_of(DirectSession& session) const { return session.queue(queue_node_); }

  const std::string& name() const override { return queue_name_; }
  std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session& session,
                                                        Coordinator* coordinator) override;
  // True while a thread is inside the plugin. Its instance must not be destroyed then.
  bool busy() const { return in_pass_ || (thread_ != nullptr && !thread_->join_for(0)); }

 private:
  InputFeed(PluginInstance& input, Options options);
  // Puts one batch into `element`; false: the end.
  bool next(QueueElement& element);
  void fill(Queue& queue, Clock& clock);
  void seek(const Position& position);
  // Warns once about a position from which a resumed training would not continue after the batch.
  void look_at(const Position& position);
  // Makes a thread that closes the queue and interrupts the plugin when the coordinator stops.
  std::shared_ptr<Joinable> close_on_stop(DirectSession& session, Coordinator& coordinator);

  PluginInstance* input_;
  Options options_;
  InputDeclaration declaration_;  // in the order of the slots
  SchemaMatch match_;
  std::shared_ptr<BufferPool> pool_ = BufferPool::make();
  BatchBuilder batch_;
  detail::RawPosition position_;        // raw position of the current call
  std::optional<QueueElement> primed_;  // the batch at position 0
  bool used_ = false;                   // the plugin may have left its start, or was interrupted
  bool pass_done_ = false;              // by the position of its last batch
  Position last_;                       // start of the next batch
  bool position_told_ = false;
  std::atomic<bool> begun_again_{false};
  std::string queue_name_;
  std::uint32_t queue_node_ = 0;
  const DirectSession* running_for_ = nullptr;
  std::shared_ptr<Thread> thread_;
  std::atomic<bool> in_pass_{false};  // a thread is in fill_queue
};

}  // namespace belay::runtime
