// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/input_feed.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "belay/plugin.h"
#include "runtime/data/input_passes.h"
#include "runtime/data/make_queue.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/library/registry.h"
#include "runtime/platform/process/resources.h"
#include "tests/data/failing_queue.h"
#include "tests/loader/plugin_files.h"
#include "tests/session/session_fixture.h"

namespace {

using belay::Code;
using belay::DType;

// Counts from 0; may end or fail at a number. `seeks` has the positions that it was asked for.
class Counting final : public belay::Input {
 public:
  struct Options {
    std::int64_t end = 1'000'000;
    std::int64_t fails_at = -1;
    bool declares = true;
    bool fills = true;
    std::int64_t outside = 0;
  };
  static constexpr auto about =
      belay::about("counting", "Counts", belay::option("end", &Options::end, "the first number that is not delivered"),
                   belay::option("fails_at", &Options::fails_at, "where next fails"),
                   belay::option("declares", &Options::declares, "whether there is a feature"),
                   belay::option("fills", &Options::fills, "whether next fills it"),
                   belay::option("outside", &Options::outside, "how many numbers next writes behind it"));
  explicit Counting(const Options& o) : o_(o) { seeks.clear(); }

  void spec(belay::InputSpec& spec) override {
    if (o_.declares) slot_ = spec.feature("n", DType::kInt64, {-1});
  }
  void open(const belay::OpenArgs& args) override { opened = args; }
  bool next(belay::Batch& batch, belay::Position& position) override {
    if (at_ == o_.fails_at) belay::fail(Code::kDataLoss, "number " + std::to_string(at_) + " is damaged");
    if (at_ == o_.end) return false;
    if (o_.fills) {
      auto* numbers = batch.tensor(slot_, {1}).data<std::int64_t>();
      for (std::int64_t i = 0; i <= o_.outside; ++i) numbers[i] = at_;
    }
    position = {0, ++at_};
    return true;
  }
  void seek(const belay::Position& position) override {
    at_ = position.index;
    seeks.push_back(at_);
  }

  static std::vector<std::int64_t> seeks;
  static belay::OpenArgs opened;

 private:
  const Options o_;
  std::uint32_t slot_ = 0;
  std::int64_t at_ = 0;
};
std::vector<std::int64_t> Counting::seeks;
belay::OpenArgs Counting::opened;

// Says where it is, and how much it has, as no input can.
class Elsewhere final : public belay::Input {
 public:
  struct Options {
    std::int64_t epoch = 0;
    std::int64_t index = 0;
    std::int64_t size = -1;
  };
  static constexpr auto about =
      belay::about("elsewhere", "Is nowhere", belay::option("epoch", &Options::epoch, "of its position"),
                   belay::option("index", &Options::index, "of its position"),
                   belay::option("size", &Options::size, "what it says of its size"));
  explicit Elsewhere(const Options& o) : o_(o) {}
  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("n", DType::kInt64, {-1}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    *batch.tensor(slot_, {1}).data<std::int64_t>() = 1;
    position = {o_.epoch, o_.index};
    return true;
  }
  void seek(const belay::Position&) override {}
  std::int64_t size() const override { return o_.size; }

 private:
  const Options o_;
  std::uint32_t slot_ = 0;
};

// Cannot go back by a number: it keeps what it needs, a kilobyte, in the bytes of its position. Its next example may
// wait until it is interrupted.
class Streaming final : public belay::Input {
 public:
  struct Options {
    std::int64_t bytes = 1024;
    bool waits = false;
  };
  static constexpr auto about = belay::about(
      "streaming", "Delivers the sum of what it has seen", belay::option("bytes", &Options::bytes, "of its position"),
      belay::option("waits", &Options::waits, "whether the second example never comes"));
  explicit Streaming(const Options& o) : o_(o), seen_(static_cast<std::size_t>(o.bytes), '\0') { interrupts = 0; }

  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("n", DType::kInt64, {-1}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    std::unique_lock lock(mutex_);
    if (o_.waits && n_ == 1) changed_.wait(lock, [&] { return interrupted_; });
    if (interrupted_) belay::fail(Code::kCancelled, "interrupted");
    ++seen_[static_cast<std::size_t>(n_) % seen_.size()];
    std::int64_t sum = ++n_ * 1000;
    for (const char c : seen_) sum += c;
    *batch.tensor(slot_, {1}).data<std::int64_t>() = sum;
    position = {0, n_, seen_};
    return true;
  }
  void seek(const belay::Position& position) override {
    interrupted_ = false;
    n_ = position.index;
    seen_ = position.bytes.empty() ? std::string(static_cast<std::size_t>(o_.bytes), '\0') : position.bytes;
  }
  void interrupt() noexcept override {
    while (holds_interrupt) std::this_thread::yield();
    {
      const std::lock_guard lock(mutex_);
      ++interrupts;
      interrupted_ = true;
    }
    changed_.notify_all();
  }
  static const void* extension(std::string_view name) noexcept {
    static constexpr std::uint32_t kTable[] = {8, 0};  // struct_size, reserved
    return name == "acme.answer.1" ? kTable : nullptr;
  }
  static inline std::atomic<int> interrupts{0};
  static inline std::atomic<bool> holds_interrupt{false};  // it waits, which it must not

 private:
  const Options o_;
  std::uint32_t slot_ = 0;
  std::int64_t n_ = 0;
  std::string seen_;
  bool interrupted_ = false;  // until a seek
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Waits for ever before its second batch, unless its host asks it to stop.
class Polling final : public belay::Input {
 public:
  static constexpr auto about = belay::about("polling", "Asks whether to go on");
  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("n", DType::kInt64, {-1}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    while (n_ == 1) {
      if (host().stopping()) belay::fail(Code::kCancelled, "not wanted any more");
      std::this_thread::yield();
    }
    *batch.tensor(slot_, {1}).data<std::int64_t>() = ++n_;
    position = {0, n_};
    return true;
  }
  void seek(const belay::Position& position) override { n_ = position.index; }

 private:
  std::uint32_t slot_ = 0;
  std::int64_t n_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Counting, Streaming, Polling, Elsewhere)

namespace belay::runtime::testing {
namespace {

constexpr std::int64_t kTenSeconds = 10'000'000'000;

class InputFeedTest : public SessionTest {
 protected:
  InputFeedTest() {
    registry.add_linked(&belay_module_v0);
    services.add("input", input_service());
  }

  void create(const std::vector<std::pair<std::string, OptionValue>>& options = {}, const char* kind = "counting") {
    const RegisteredPlugin* plugin = registry.find(PluginKind::kInput, kind, "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = "train";
    for (const auto& [name, value] : options) resolved.options.add(name, value, plugin->info.option(name)->type);
    instance = &instances.create(*plugin, resolved, services, monitor);
  }
  void feed(InputFeed::Options options = {.name = "train"}) {
    input = InputFeed::open(*instance, std::move(options));
    number = input->add_to_graph(graph).features.at(0).output;
    count = ops::assign_add(ops::variable(g, "count", Tensor(std::int64_t{0})), ops::constant(g, std::int64_t{1}));
    graph.finalize();
  }
  // A session as it is begun, and begun again.
  void open_session() {
    DirectSessionOptions options;
    options.queues = queues;
    session = std::make_shared<DirectSession>(graph, store, options);
    session->run_once(graph.collection("variable_init"));
  }
  std::uint32_t queue_node() { return g.find(input->name()).raw().node; }
  void start() {
    open_session();
    threads = input->create_threads(session->handle(), nullptr);
  }
  // A step: it takes a batch and writes a variable.
  std::int64_t next() { return session->handle().run({number, count})[0].data<std::int64_t>()[0]; }
  void stop() {
    session->queue(queue_node()).close(true);
    for (const auto& t : threads) ASSERT_TRUE(t->join_for(kTenSeconds));
  }

  RecordingLogger log;
  Registry registry;
  HostServices services{log, system_clock(), "", 42};
  CallMonitor monitor;
  PluginInstances instances;
  PluginInstance* instance = nullptr;
  std::shared_ptr<InputFeed> input;
  Output number, count;
  QueueFactory queues = make_queue;
  std::shared_ptr<DirectSession> session;
  std::vector<std::shared_ptr<Joinable>> threads;
};

TEST_F(InputFeedTest, DeliversTheBatchesInOrder) {
  create();
  feed({.name = "train", .shard = 1, .shards = 3, .seed = 7});
  EXPECT_EQ(Counting::opened.shard, 1);
  EXPECT_EQ(Counting::opened.shards, 3);
  EXPECT_EQ(Counting::opened.seed, 7u);
  start();
  for (std::int64_t i = 0; i < 100; ++i) ASSERT_EQ(next(), i);
  EXPECT_TRUE(Counting::seeks.empty());
  EXPECT_TRUE(input->busy());
  stop();
  EXPECT_FALSE(input->busy());
}

TEST_F(InputFeedTest, T_145_APositionCountsFromZeroAndASizeIsANumberOfExamples) {
  const std::string label = "INVALID_ARGUMENT: input \"train\" of \"elsewhere\" (linked in, 1.0.0) in ";
  for (const char* which : {"epoch", "index"}) {
    create({{which, std::int64_t{-3}}}, "elsewhere");
    input = InputFeed::open(*instance, {.name = "train"});
    EXPECT_THAT(error_of([&] { input->prime(); }),
                ::testing::HasSubstr(label + "next: [B3002] the position has epoch " +
                                     (which == std::string("epoch") ? "-3 and index 0" : "0 and index -3") +
                                     "; both count from 0"));
  }
  create({{"size", std::int64_t{-7}}}, "elsewhere");
  EXPECT_EQ(error_of([&] { InputFeed::open(*instance, {.name = "train"})->size(); }),
            label + "size: [B3003] it returned -7 examples; -1 means that it does not know");
}

TEST_F(InputFeedTest, T_145_APositionThatStaysIsAWarningOnce) {
  create({{"index", std::int64_t{8}}}, "elsewhere");
  const auto lines_of = [&](InputUse use, const Position& from) {
    log.lines.clear();
    InputFeed::Options options{.name = "train"};
    options.schema.use = use;
    input = InputFeed::open(*instance, options);
    input->batches_behind(from, 3);
    return log.lines;
  };
  const std::string warning =
      "warning train: input \"train\" of \"elsewhere\" (linked in, 1.0.0) in next: its position went from ";
  const std::string why = " to {0, 8}, so a resumed run gets other batches than this one";
  EXPECT_THAT(lines_of(InputUse::kTraining, {0, 0}), ::testing::ElementsAre(warning + "{0, 8}" + why));
  EXPECT_THAT(lines_of(InputUse::kTraining, {1, 4}), ::testing::ElementsAre(warning + "{1, 4}" + why));
  EXPECT_THAT(lines_of(InputUse::kEvaluation, {0, 0}), ::testing::IsEmpty()) << "no run resumes there";
  // Maybe only the input's own bytes change.
  create({}, "streaming");
  EXPECT_THAT(lines_of(InputUse::kTraining, {}), ::testing::IsEmpty());
}

TEST_F(InputFeedTest, TheRunThatTakesABatchCommitsItsPosition) {
  create();
  feed({.name = "train", .prefetch = 8});
  start();
  EXPECT_TRUE(store->positions().empty());
  next();
  next();
  // Not where the input is, which is ahead by what is in the queue.
  EXPECT_EQ(store->positions().at("train").index, 2);
  session->handle().run({number});  // writes nothing, so there is nothing to be in step with
  EXPECT_EQ(store->positions().at("train").index, 2);
  stop();
}

TEST_F(InputFeedTest, B_05b_AnInputWhosePositionIsAKilobyteOfItsOwnResumesExactly) {
  create({}, "streaming");
  feed();
  start();
  std::vector<std::int64_t> whole;
  for (int i = 0; i < 8; ++i) whole.push_back(next());
  stop();
  const auto at_eight = store->positions();
  EXPECT_EQ(at_eight.at("train").bytes.size(), 1024u);
  // Again from a position in the middle, as a resume does it.
  store->replace_positions({});
  start();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(next(), whole[static_cast<std::size_t>(i)]);
  stop();
  const auto at_four = store->positions();
  store->replace_positions({});
  start();
  for (int i = 0; i < 6; ++i) next();
  stop();
  store->replace_positions(at_four);
  start();
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(next(), whole[i]);
  EXPECT_EQ(store->positions().at("train").bytes, at_eight.at("train").bytes);
  stop();
}

TEST_F(InputFeedTest, B_05c_APositionBeyondTheHostsMemoryIsRefused) {
  create({{"bytes", std::int64_t{BELAY_POSITION_BYTES + 1}}}, "streaming");
  input = InputFeed::open(*instance, {.name = "train"});
  EXPECT_EQ(error_of([&] { input->prime(); }),
            "RESOURCE_EXHAUSTED: input \"train\" of \"streaming\" (linked in, 1.0.0) in next: the position has 4097 "
            "own bytes, but at most 4096 are kept");
}

TEST_F(InputFeedTest, B_03a_AnInputThatWaitsIsWokenWhenTheSessionStops) {
  create({{"waits", true}}, "streaming");
  feed();
  open_session();
  const auto coordinator = std::make_shared<Coordinator>(system_clock());
  threads = input->create_threads(session->handle(), coordinator.get());
  next();
  coordinator->request_stop("enough");
  for (const auto& t : threads) EXPECT_TRUE(t->join_for(kTenSeconds));
  EXPECT_EQ(Streaming::interrupts, 1);
  EXPECT_FALSE(input->busy());
}

TEST_F(InputFeedTest, B_11b_AnInputThatAsksItsHostIsTold) {
  create({}, "polling");
  feed();
  for (int times = 0; times < 2; ++times) {  // a new session begins without the stop of the one before
    open_session();
    const auto coordinator = std::make_shared<Coordinator>(system_clock());
    threads = input->create_threads(session->handle(), coordinator.get());
    EXPECT_EQ(next(), 1);
    coordinator->request_stop("enough");
    for (const auto& t : threads) EXPECT_TRUE(t->join_for(kTenSeconds));
    store->replace_positions({});
  }
}

// Also where the interrupt met no wait.
TEST_F(InputFeedTest, B_03a_AnInputSeeksBetweenAnInterruptAndTheNextSession) {
  create({}, "streaming");
  feed();
  for (int times = 1; times <= 2; ++times) {
    open_session();
    session->queue(queue_node()).close(true);  // before the feeding thread asks for its first batch
    const auto coordinator = std::make_shared<Coordinator>(system_clock());
    coordinator->request_stop("at once");
    for (const auto& t : input->create_threads(session->handle(), coordinator.get()))
      EXPECT_TRUE(t->join_for(kTenSeconds));
    EXPECT_EQ(Streaming::interrupts, times);
  }
  start();
  EXPECT_EQ(next(), 1001);
  next();
  stop();
}

TEST_F(InputFeedTest, T_147_AnInterruptThatWaitsIsNamed) {
  create({{"waits", true}}, "streaming");
  feed();
  open_session();
  const auto coordinator = std::make_shared<Coordinator>(system_clock());
  const auto waiting = input->create_threads(session->handle(), coordinator.get());
  Streaming::holds_interrupt = true;
  coordinator->request_stop("at once");
  while (!instance->interrupting()) std::this_thread::yield();
  EXPECT_THAT(
      waiting.at(1)->label(),
      ::testing::EndsWith("-close_on_stop (input \"train\" of \"streaming\" (linked in, 1.0.0) in interrupt, which "
                          "must not wait)"));
  EXPECT_THAT(
      calls_in_progress({&monitor}),
      ::testing::EndsWith("input \"train\" of \"streaming\" (linked in, 1.0.0) in interrupt, which must not wait"));
  Streaming::holds_interrupt = false;
  for (const auto& t : waiting) EXPECT_TRUE(t->join_for(kTenSeconds));
}

TEST_F(InputFeedTest, B_03b_APluginsTablesAreFoundByTheirNames) {
  create({}, "streaming");
  const void* table = instance->extension("acme.answer.1");
  EXPECT_NE(table, nullptr);
  EXPECT_EQ(instance->extension("acme.answer.1"), table);
  EXPECT_NE(instance->extension(BELAY_INTERRUPT_EXTENSION), nullptr);
  EXPECT_EQ(instance->extension("acme.question.1"), nullptr);
  create();
  EXPECT_EQ(instance->extension(BELAY_INTERRUPT_EXTENSION), nullptr);
  instance->interrupt();  // nothing to do
}

TEST_F(InputFeedTest, ANewSessionGoesOnAtTheCommittedPosition) {
  create();
  feed({.name = "train", .prefetch = 8});
  start();
  for (int i = 0; i < 5; ++i) next();
  stop();
  start();
  EXPECT_EQ(Counting::seeks, std::vector<std::int64_t>{5});
  EXPECT_EQ(next(), 5);
  stop();
}

TEST_F(InputFeedTest, ARestoredPositionIsSoughtBeforeTheFirstBatch) {
  create();
  feed();
  input->prime();  // looks at the first batch, which is then not the one to deliver
  store->replace_positions({{"train", {0, 40}}});
  start();
  EXPECT_EQ(Counting::seeks, std::vector<std::int64_t>{40});
  EXPECT_EQ(next(), 40);
  stop();
}

TEST_F(InputFeedTest, APrimedBatchIsDeliveredOnce) {
  create();
  feed();
  input->prime();
  input->prime();
  start();
  EXPECT_EQ(next(), 0);
  EXPECT_EQ(next(), 1);
  EXPECT_TRUE(Counting::seeks.empty());
  stop();
}

TEST_F(InputFeedTest, TheEndComesAfterTheLastBatch) {
  create({{"end", std::int64_t{3}}});
  feed({.name = "train", .prefetch = 8});
  start();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(next(), i);
  const std::string error = error_of([&] { next(); });
  EXPECT_EQ(error.substr(0, error.find(':')), "OUT_OF_RANGE") << error;
  for (const auto& t : threads) EXPECT_TRUE(t->join_for(kTenSeconds));
}

TEST_F(InputFeedTest, AnErrorComesAfterWhatWasReadBefore) {
  create({{"fails_at", std::int64_t{3}}});
  feed({.name = "train", .prefetch = 8});
  start();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(next(), i);
  EXPECT_EQ(error_of([&] { next(); }),
            "DATA_LOSS: node 'input/train_batch' (QueueDequeue): input \"train\" of \"counting\" (linked in, 1.0.0) in "
            "next: number 3 is damaged");
}

TEST_F(InputFeedTest, WhateverElseItsThreadFailsWithComesThereTooAndSaysWhatItDid) {
  queues = failing_queues([] { throw std::bad_alloc(); });
  create();
  feed({.name = "train", .prefetch = 8});
  start();
  for (std::int64_t i = 0; i < 2; ++i) EXPECT_EQ(next(), i);
  const std::string filling =
      "filling queue 'input/train_queue' by input \"train\" of \"counting\" (linked in, 1.0.0): ";
  EXPECT_EQ(error_of([&] { next(); }), "RESOURCE_EXHAUSTED: node 'input/train_batch' (QueueDequeue): " + filling +
                                           resource_shortage(std::bad_alloc()));
  EXPECT_TRUE(threads[0]->join_for(kTenSeconds));
  queues = failing_queues([] { throw 7; });
  start();
  for (std::int64_t i = 2; i < 4; ++i) EXPECT_EQ(next(), i);
  EXPECT_EQ(error_of([&] { next(); }),
            "UNKNOWN: node 'input/train_batch' (QueueDequeue): " + filling + "unknown exception type");
  EXPECT_TRUE(threads[0]->join_for(kTenSeconds));
}

TEST_F(InputFeedTest, AnEmptyInputShowsWhenItIsPrimed) {
  create({{"end", std::int64_t{0}}});
  feed();
  EXPECT_EQ(
      error_of([&] { input->prime(); }),
      "FAILED_PRECONDITION: [B3005] input \"train\" of \"counting\" (linked in, 1.0.0) is empty: it ended before the "
      "first batch");
}

TEST_F(InputFeedTest, AnInputMustDeclareSomethingAndFillIt) {
  create({{"declares", false}});
  EXPECT_EQ(error_of([&] { InputFeed::open(*instance, {.name = "train"}); }),
            "INVALID_ARGUMENT: [B3003] input \"train\" of \"counting\" (linked in, 1.0.0) declares no features");
  create({{"fills", false}});
  feed();
  EXPECT_EQ(error_of([&] { input->prime(); }),
            "INTERNAL: input \"train\" of \"counting\" (linked in, 1.0.0) in next: [B3004] the batch lacks 'n': the "
            "input did "
            "not fill it");
}

TEST_F(InputFeedTest, T_145_AWriteOfNextPastTheEndOfItsTensorIsItsError) {
  if (kGuardBytes == 0) GTEST_SKIP() << "SKIPPED: the address sanitizer finds such writes by itself";
  create({{"outside", std::int64_t{2}}});
  feed();
  EXPECT_EQ(error_of([&] { input->prime(); }),
            "INTERNAL: input \"train\" of \"counting\" (linked in, 1.0.0) in next: it wrote 16 bytes past the end of "
            "'n', which has 8 bytes");
}

TEST_F(InputFeedTest, T_145_AWriteOfNextFarPastTheEndOfItsTensorEndsTheProcess) {
  if (kGuardBytes == 0) GTEST_SKIP() << "SKIPPED: the address sanitizer finds such writes by itself";
  create({{"outside", std::int64_t{16}}});
  feed();
  EXPECT_EXIT(
      input->prime(), ::testing::ExitedWithCode(3),
      "error.B2042.: input \"train\" of \"counting\" .linked in, 1.0.0. in next: it wrote 128 bytes or more past "
      "the end of 'n', which has 8 bytes\n  help: memory of others may be damaged");
}

class InputPassesTest : public InputFeedTest {
 protected:
  void start(const std::vector<std::pair<std::string, OptionValue>>& options, std::int64_t prefetch) {
    create(options);
    feed({.name = "train", .prefetch = prefetch});
    DirectSessionOptions session_options;
    session_options.queues = make_queue;
    session = std::make_shared<DirectSession>(graph, store, session_options);
    session->run_once(graph.collection("variable_init"));
    passes.emplace(input, session, nullptr, 10);
  }
  // So many batches, or all.
  std::vector<std::int64_t> pass(std::size_t most = 1000) {
    std::vector<std::int64_t> numbers;
    passes->begin();
    while (numbers.size() < most && passes->more(token)) numbers.push_back(next());
    passes->end();
    EXPECT_FALSE(input->busy());
    return numbers;
  }

  CancellationSource source;
  CancelToken token{source, system_clock()};
  std::optional<InputPasses> passes;
};

TEST_F(InputPassesTest, EachPassBeginsAtTheStart) {
  start({{"end", std::int64_t{4}}}, 2);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(pass(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Counting::seeks, std::vector<std::int64_t>(99, 0));
}

TEST_F(InputPassesTest, WhatAPassHasReadAheadIsNotInTheNextOne) {
  start({}, 8);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(pass(2), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(InputPassesTest, APrimedBatchIsTheFirstOnesFirst) {
  start({{"end", std::int64_t{2}}}, 2);
  input->prime();
  EXPECT_EQ(pass(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_TRUE(Counting::seeks.empty());
  EXPECT_EQ(pass(), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(InputPassesTest, AnErrorOfTheInputReachesTheReaderInEachPass) {
  start({{"fails_at", std::int64_t{1}}}, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(error_of([&] { pass(); }),
              "DATA_LOSS: input \"train\" of \"counting\" (linked in, 1.0.0) in next: number 1 is damaged");
    passes->end();
  }
}

TEST_F(InputPassesTest, AWaitForABatchCanBeInterrupted) {
  start({}, 2);
  passes->begin();
  passes->end();  // nothing more comes, and the reader does not know
  input->queue_of(*session).reopen();
  source.cancel(Error(Code::kCancelled, "interrupted"));
  EXPECT_EQ(error_of([&] { passes->more(token); }), "CANCELLED: interrupted");
}

TEST_F(InputFeedTest, WithoutASizeItCannotSay) {
  create();
  feed();
  EXPECT_EQ(input->size(), -1);
}

}  // namespace
}  // namespace belay::runtime::testing
