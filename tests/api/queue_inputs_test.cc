// SPDX-License-Identifier: Apache-2.0
// belay/runtime/queue_inputs.h: pipelines of queues, through the sessions that programs have.
#include <belay/ops/reductions.h>
#include <belay/runtime/estimator.h>
#include <belay/runtime/queue_inputs.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "tests/api/program.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using Numbers = std::vector<std::int32_t>;

Numbers numbers(std::int32_t n) {
  Numbers all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class T>
std::vector<T> elements(const TensorView& t) {
  return std::vector<T>(t.data<const T>(), t.data<const T>() + t.size());
}

class QueueInputs : public ProgramTest {
 protected:
  static constexpr const char* kEnd = "the end";

  void start() {
    const Output init = graph.local_variables_initializer();
    session.emplace(graph);
    session->run({init});
    session->start_queue_runners(coordinator);
  }
  RunResult run(const std::vector<Output>& outputs) {
    return session->run(std::vector<FetchRef>(outputs.begin(), outputs.end()));
  }
  // Returns the result of a run of `o` as text; the end of the input is kEnd.
  std::string next(const Output& o) {
    try {
      const RunResult r = session->run({o});
      std::string text;
      for (std::size_t i = 0; i < r[0].size(); ++i) text += (i == 0 ? "" : " ") + element(r[0], i);
      return text;
    } catch (const Error& e) {
      return e.code() == Code::kOutOfRange ? kEnd : e.what();
    }
  }
  // So many results one after the other.
  std::vector<std::string> next(const Output& o, int runs) {
    std::vector<std::string> all;
    for (int i = 0; i < runs; ++i) all.push_back(next(o));
    return all;
  }
  // All elements up to the end.
  Numbers drain(const Output& o) {
    Numbers all;
    try {
      for (;;) {
        const Numbers some = elements<std::int32_t>(session->run({o})[0]);
        all.insert(all.end(), some.begin(), some.end());
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kOutOfRange) << e.what();
    }
    return all;
  }
  // The numbers 0 .. n - 1 once, in order.
  Output counted(std::int64_t n, std::string_view name = {}) {
    return ops::dequeue(ops::range_input_producer(graph, n, {.num_epochs = 1, .shuffle = false, .name = name}))[0];
  }
  static std::string element(const TensorView& t, std::size_t i) {
    if (t.dtype() == DType::kString) return "'" + std::string(detail::view(t.data<const belay_str>()[i])) + "'";
    return std::to_string(static_cast<std::int64_t>(t.number(i)));
  }

  OwnedGraph graph;
  OwnedCoordinator coordinator;
  std::optional<OwnedSession> session;
};

TEST_F(QueueInputs, INP_01_WithoutALimitATensorIsReadForEver) {
  const Output seven = ops::constant(graph, Tensor(std::int64_t{7}));
  const Output same = ops::limit_epochs(seven);
  EXPECT_EQ(same, seven);
  start();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(next(same), "7");
}

TEST_F(QueueInputs, INP_01_WithALimitTheRunBehindTheLastIsTheEnd) {
  const Output twice = ops::limit_epochs(ops::constant(graph, Tensor(std::string_view("again"))), 2);
  start();
  EXPECT_THAT(next(twice, 4), ElementsAre("'again'", "'again'", kEnd, kEnd));
  for (const std::int64_t bad : {0, -1}) {
    OwnedGraph other;
    EXPECT_THAT(error_of([&] { ops::limit_epochs(ops::constant(other, Tensor(1.0f)), bad); }),
                HasSubstr("num_epochs must be at least 1, got " + std::to_string(bad)));
  }
}

TEST_F(QueueInputs, INP_02_RowsComeInOrderAsManyTimesAsThereAreEpochs) {
  const Output rows = ops::constant(graph, Tensor({2, 2}, Numbers{1, 2, 3, 4}));
  const Output one = ops::dequeue(ops::input_producer(rows, {.num_epochs = 2, .shuffle = false}))[0];
  const Output word =
      ops::dequeue(ops::string_input_producer(graph, {"a", "b"}, {.num_epochs = 2, .shuffle = false}))[0];
  const Output number = counted(3);
  const std::vector<Output> slices =
      ops::slice_input_producer({rows, ops::constant(graph, Tensor({2}, std::vector<std::string_view>{"x", "y"}))},
                                {.num_epochs = 1, .shuffle = false});
  start();
  EXPECT_THAT(next(one, 5), ElementsAre("1 2", "3 4", "1 2", "3 4", kEnd));
  EXPECT_THAT(next(word, 5), ElementsAre("'a'", "'b'", "'a'", "'b'", kEnd));
  EXPECT_THAT(next(number, 4), ElementsAre("0", "1", "2", kEnd));
  const RunResult both = run(slices);
  EXPECT_EQ(element(both[0], 1), "2");
  EXPECT_EQ(element(both[1], 0), "'x'");
  EXPECT_THAT(next(slices[1], 2), ElementsAre("'y'", kEnd));
  coordinator.request_stop("enough");
  EXPECT_THAT(coordinator.join(), ElementsAre());  // every thread has ended
}

TEST_F(QueueInputs, INP_02_RowsOfUnknownShapeAndNoRowsAreRefused) {
  const Output open = ops::placeholder(graph, DType::kFloat32, {4, -1}, "open");
  EXPECT_THAT(error_of([&] { ops::input_producer(open); }), HasSubstr("rows of a known shape, got 'open:0'"));
  EXPECT_THAT(error_of([&] { ops::string_input_producer(graph, {}); }), HasSubstr("there is no string to produce"));
  EXPECT_THAT(error_of([&] { ops::range_input_producer(graph, 0); }), HasSubstr("limit must be from 1"));
  EXPECT_THAT(error_of([&] { ops::slice_input_producer({}); }), HasSubstr("there are no tensors"));
}

TEST_F(QueueInputs, INP_02_ThatThereIsNoRowMayShowInTheRunOnly) {
  const ops::QueueRef lists = ops::fifo_queue(graph, 1, {{DType::kString, {-1}}});
  const Output none = ops::constant(graph, Tensor({0}, std::vector<std::string_view>{}));
  add_queue_runner(graph, {.queue = lists, .enqueue_ops = {ops::enqueue(lists, {none})}});
  const Output word = ops::dequeue(ops::string_input_producer(ops::dequeue(lists)[0]))[0];
  start();
  EXPECT_THAT(next(word), HasSubstr("there are no rows"));
  EXPECT_THAT(error_of([&] { coordinator.join(); }), HasSubstr("there are no rows"));
}

// Two epochs of 20 shuffled numbers.
Numbers two_epochs(std::int64_t seed) {
  OwnedGraph graph;
  const Output one = ops::dequeue(ops::range_input_producer(graph, 20, {.num_epochs = 2, .seed = seed}))[0];
  const Output init = graph.local_variables_initializer();
  OwnedSession session(graph);
  session.run({init});
  OwnedCoordinator coordinator;
  session.start_queue_runners(coordinator);
  Numbers all;
  for (int i = 0; i < 40; ++i) all.push_back(session.run({one})[0].scalar<std::int32_t>());
  coordinator.request_stop("enough");
  coordinator.join();
  return all;
}

TEST(QueueInputsOrder, AShuffledEpochHasEveryRowOnceInAnOrderOfItsSeed) {
  const Numbers first = two_epochs(1);
  EXPECT_EQ(first, two_epochs(1));
  EXPECT_NE(first, two_epochs(2));
  const Numbers a(first.begin(), first.begin() + 20), b(first.begin() + 20, first.end());
  EXPECT_NE(a, b);
  for (Numbers epoch : {a, b}) {
    EXPECT_NE(epoch, numbers(20));
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, numbers(20));
  }
}

TEST_F(QueueInputs, RowsOfSeveralTensorsStayTogetherWhenTheyAreShuffled) {
  const std::vector<std::string_view> words = {"0", "1", "2", "3", "4", "5", "6"};
  const std::vector<Output> one = ops::slice_input_producer(
      {ops::range(graph, 0, 7), ops::constant(graph, Tensor({7}, words))}, {.num_epochs = 1, .seed = 3});
  start();
  Numbers seen;
  for (int i = 0; i < 7; ++i) {
    const RunResult r = run(one);
    seen.push_back(r[0].scalar<std::int32_t>());
    EXPECT_EQ(r[1].scalar<std::string_view>(), std::to_string(seen.back()));
  }
  EXPECT_NE(seen, numbers(7));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, numbers(7));
}

TEST_F(QueueInputs, INP_05_BatchesComeInTheOrderOfTheElements) {
  const std::vector<Output> ten = ops::batch({counted(30)}, 10);
  EXPECT_EQ(ten[0].dims(), Dims{10});
  start();
  EXPECT_THAT(next(ten[0], 4), ElementsAre("0 1 2 3 4 5 6 7 8 9", "10 11 12 13 14 15 16 17 18 19",
                                           "20 21 22 23 24 25 26 27 28 29", kEnd));
}

TEST_F(QueueInputs, INP_05_NamedTensorsKeepTheirNames) {
  const Output n = counted(4);
  const std::vector<NamedOutput> pairs = ops::batch({{"number", n}, {"square", n * n}}, 2);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].name, "number");
  EXPECT_EQ(pairs[1].name, "square");
  start();
  const RunResult r = session->run({pairs[0].output, pairs[1].output});
  EXPECT_THAT(elements<std::int32_t>(r[0]), ElementsAre(0, 1));
  EXPECT_THAT(elements<std::int32_t>(r[1]), ElementsAre(0, 1));
  EXPECT_THAT(next(pairs[1].output, 2), ElementsAre("4 9", kEnd));
}

TEST_F(QueueInputs, INP_05_ASecondStageTakesTheRowsOfTheFirst) {
  const std::vector<Output> two = ops::batch({counted(12)}, 2);
  const std::vector<Output> six = ops::batch(two, 6, {.enqueue_many = true});
  EXPECT_EQ(six[0].dims(), Dims{6});
  start();
  EXPECT_THAT(next(six[0], 3), ElementsAre("0 1 2 3 4 5", "6 7 8 9 10 11", kEnd));
}

TEST_F(QueueInputs, INP_06_OfSeveralThreadsEveryElementComesOnce) {
  const Output four = ops::batch({counted(40)}, 4, {.num_threads = 4})[0];
  start();
  Numbers all = drain(four);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers(40));
}

// A source that comes to a full queue is not passed over for another one. When one was, half of all elements came from
// the other first.
TEST_F(QueueInputs, T_135_AJoinTakesFromEachSourceInTurn) {
  constexpr std::int32_t kEach = 4000;
  const Output joined =
      ops::batch_join({{counted(kEach, "a")}, {counted(kEach, "b") + static_cast<double>(kEach)}}, 1)[0];
  start();
  const Numbers all = drain(joined);
  ASSERT_EQ(all.size(), 2U * kEach);
  const auto of_first =
      std::count_if(all.begin(), all.begin() + kEach, [](std::int32_t number) { return number < kEach; });
  EXPECT_GT(of_first, kEach / 40);
  EXPECT_LT(of_first, kEach - kEach / 40);
}

TEST_F(QueueInputs, INP_06_AJoinHasAThreadForEachList) {
  const std::vector<Output> joined = ops::batch_join({{counted(10, "a")}, {counted(10, "b") + 10.0}}, 5);
  const std::vector<Output> shuffled =
      ops::shuffle_batch_join({{counted(10, "c")}, {counted(10, "d") + 10.0}}, 5, 9, 4);
  start();
  for (const Output& batch : {joined[0], shuffled[0]}) {
    Numbers all = drain(batch);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, numbers(20));
  }
}

TEST_F(QueueInputs, INP_07_TheLastBatchHasWhatIsLeftWhereThatIsAllowed) {
  const std::vector<Output> rest = ops::batch({counted(35)}, 10, {.allow_smaller_final_batch = true});
  EXPECT_EQ(rest[0].dims(), Dims{-1});
  start();
  const std::vector<std::string> all = next(rest[0], 5);
  EXPECT_EQ(all[2], "20 21 22 23 24 25 26 27 28 29");
  EXPECT_THAT(std::vector<std::string>(all.begin() + 3, all.end()), ElementsAre("30 31 32 33 34", kEnd));
}

TEST_F(QueueInputs, INP_07_WithoutThatTheRestIsLost) {
  const Output whole = ops::batch({counted(35)}, 10)[0];
  start();
  EXPECT_EQ(drain(whole), numbers(30));
}

TEST_F(QueueInputs, INP_07_AShuffledInputEndsTheSameWays) {
  const Output whole = ops::shuffle_batch({counted(35, "a")}, 10, 20, 10, {.seed = 5})[0];
  const Output rest = ops::shuffle_batch({counted(35, "b")}, 10, 20, 10, {.allow_smaller_final_batch = true})[0];
  start();
  EXPECT_EQ(drain(whole).size(), 30u);
  Numbers all = drain(rest);
  EXPECT_NE(all, numbers(35));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers(35));
}

TEST_F(QueueInputs, INP_08_ElementsOfUnknownLengthArePaddedToTheLongestOfTheirBatch) {
  const ops::QueueRef ragged = ops::fifo_queue(graph, 4, {{DType::kInt32, {-1}}, {DType::kString, {-1}}});
  std::vector<Output> fill;
  for (const std::int32_t n : {1, 3, 2})
    fill.push_back(ops::enqueue(
        ragged, {ops::constant(graph, Tensor({n}, Numbers(static_cast<std::size_t>(n), n))),
                 ops::constant(graph, Tensor({n}, std::vector<std::string_view>(static_cast<std::size_t>(n), "s")))}));
  const Output close = ops::queue_close(ragged);
  const std::vector<Output> batch =
      ops::batch(ops::dequeue(ragged), 2, {.dynamic_pad = true, .allow_smaller_final_batch = true});
  EXPECT_EQ(batch[0].dims(), (Dims{-1, -1}));
  session.emplace(graph);
  for (const Output& f : fill) session->run({f});
  session->run({close});
  session->start_queue_runners(coordinator);
  const RunResult two = run(batch);
  EXPECT_EQ(two[0].dims(), (Dims{2, 3}));
  EXPECT_THAT(elements<std::int32_t>(two[0]), ElementsAre(1, 0, 0, 3, 3, 3));
  EXPECT_EQ(element(two[1], 1) + element(two[1], 3), "'''s'");
  EXPECT_EQ(next(batch[0]), "2 2");
}

TEST_F(QueueInputs, INP_09_ATensorWithoutARankIsRefused) {
  const Output any = ops::placeholder_of_any_rank(graph, DType::kFloat32, "any");
  EXPECT_THAT(error_of([&] { ops::batch({any}, 2); }), HasSubstr("batch: Cannot infer the rank of 'any:0'"));
  EXPECT_THAT(error_of([&] { ops::shuffle_batch({any}, 2, 8, 4); }), HasSubstr("shuffle_batch: Cannot infer the rank"));
  EXPECT_EQ(ops::batch({any}, 2, {.shapes = {{3}}})[0].dims(), (Dims{2, 3}));
  const Output open = ops::placeholder(graph, DType::kFloat32, {-1}, "open");
  EXPECT_THAT(error_of([&] { ops::batch({open}, 2); }), HasSubstr("set shapes, or dynamic_pad"));
}

TEST_F(QueueInputs, INP_10_OnlyWhatIsToBeKeptComesIn) {
  for (const int threads : {1, 5}) {
    OwnedGraph own;
    const Output n = ops::dequeue(ops::range_input_producer(own, 40, {.num_epochs = 1, .shuffle = false}))[0];
    const Output even = ops::equal(ops::floor_mod(n, ops::constant(own, Tensor(std::int32_t{2}))), ops::zeros_like(n));
    const Output five = ops::maybe_batch({n}, even, 5, {.num_threads = threads})[0];
    const Output init = own.local_variables_initializer();
    session.emplace(own);
    session->run({init});
    session->start_queue_runners(coordinator);
    Numbers all = drain(five);
    std::sort(all.begin(), all.end());
    Numbers wanted;
    for (std::int32_t i = 0; i < 40; i += 2) wanted.push_back(i);
    EXPECT_EQ(all, wanted) << threads;
    coordinator.request_stop("enough");
    coordinator.join();
    coordinator.clear_stop();
    session.reset();
  }
}

// A thread that fills a queue keeps the session and not the graph. It once used the graph after its end.
TEST_F(QueueInputs, ASessionThatIsDestroyedWhileItsInputEndsUsesItsGraphNoMore) {
  for (int round = 0; round < 20; ++round) {
    OwnedGraph own;
    ops::dequeue(ops::range_input_producer(own, 3, {.num_epochs = 1, .shuffle = false}));
    const Output init = own.local_variables_initializer();
    session.emplace(own);
    session->run({init});
    OwnedCoordinator threads;
    session->start_queue_runners(threads);
    session.reset();
    threads.request_stop("enough");
    try {
      threads.join();
    } catch (const Error& e) {  // of a thread that came too late
      EXPECT_TRUE(e.code() == Code::kFailedPrecondition || e.code() == Code::kCancelled) << e.what();
    }
  }
}

TEST_F(QueueInputs, INP_10_OfABatchEachRowIsKeptOrNot) {
  const Output pairs = ops::batch({counted(20)}, 2)[0];
  const Output keep = ops::constant(graph, Tensor({2}, {true, false}));
  const Output all = ops::constant(graph, Tensor(true));
  const Output even = ops::maybe_batch({pairs}, keep, 5, {.enqueue_many = true})[0];
  const Output none = ops::maybe_shuffle_batch({ops::batch({counted(4, "b")}, 2)[0]},
                                               ops::constant(graph, Tensor(false)), 1, 4, 1, {.enqueue_many = true})[0];
  const Output both = ops::maybe_batch_join({{counted(4, "c")}}, {all}, 4)[0];
  start();
  EXPECT_THAT(next(even, 3), ElementsAre("0 2 4 6 8", "10 12 14 16 18", kEnd));
  EXPECT_EQ(next(none), kEnd);
  EXPECT_EQ(next(both), "0 1 2 3");
}

TEST_F(QueueInputs, INP_10_AnAnswerOfAnotherShapeIsRefused) {
  const Output x = ops::constant(graph, Tensor({2}, {1.0f, 2.0f}));
  const Output vector = ops::constant(graph, Tensor({2}, {true, false}));
  const Output matrix = ops::constant(graph, Tensor({1, 2}, {true, false}));
  const Output unknown = ops::placeholder_of_any_rank(graph, DType::kBool);
  EXPECT_THAT(error_of([&] { ops::maybe_batch({x}, vector, 1); }), HasSubstr("a vector goes with enqueue_many"));
  for (const Output& keep : {matrix, unknown})
    EXPECT_THAT(error_of([&] { ops::maybe_batch({x}, keep, 1, {.enqueue_many = true}); }),
                HasSubstr("must be a scalar or a vector, one for each row"));
  EXPECT_THAT(error_of([&] { ops::maybe_batch({x}, x, 1); }), HasSubstr("bool"));
  EXPECT_THAT(error_of([&] { ops::maybe_batch({x}, Output(), 1); }), HasSubstr("keep_input is empty"));
  EXPECT_THAT(error_of([&] { ops::maybe_batch_join({{x}, {x}}, {vector}, 1); }), HasSubstr("each has its own"));
}

TEST_F(QueueInputs, INP_14_ListsWithOtherNamesAreRefused) {
  const Output x = ops::constant(graph, Tensor(1.0f));
  const std::vector<NamedOutput> first = {{"image", x}, {"label", x}};
  EXPECT_THAT(error_of([&] {
                ops::batch_join({first, {{"image", x}, {"lable", x}}}, 2);
              }),
              HasSubstr("has no tensor 'label', which the first one has (did you mean \"lable\"?)"));
  EXPECT_THAT(error_of([&] {
                ops::shuffle_batch_join({first, {{"label", x}, {"image", x}, {"more", x}}}, 2, 8, 4);
              }),
              HasSubstr("has 3 tensors, the first one has 2"));
}

TEST_F(QueueInputs, INP_14_ListsThatDoNotFitAreRefused) {
  const Output x = ops::constant(graph, Tensor(1.0f)), n = ops::constant(graph, Tensor(std::int32_t{1}));
  const Output pair = ops::constant(graph, Tensor({2}, {1.0f, 2.0f}));
  EXPECT_THAT(error_of([&] { ops::batch_join({{x, n}, {x}}, 2); }), HasSubstr("the lists have 2 and 1 tensors"));
  EXPECT_THAT(error_of([&] { ops::batch_join({{x}, {n}}, 2); }), HasSubstr("their types must be equal"));
  EXPECT_THAT(error_of([&] { ops::batch_join({{x}, {pair}}, 2); }), HasSubstr("do not agree"));
  EXPECT_THAT(error_of([&] { ops::batch_join({{x}}, 2, {.num_threads = 2}); }), HasSubstr("leave num_threads out"));
  EXPECT_THAT(error_of([&] { ops::batch(std::vector<Output>(), 2); }), HasSubstr("batch: there are no tensors"));
  EXPECT_THAT(error_of([&] { ops::shuffle_batch({x}, 2, 4, 4); }), HasSubstr("less than the capacity"));
}

TEST_F(QueueInputs, INP_16_FilesAreMatchedOnceAndSorted) {
  for (const char* name : {"b.txt", "a.txt", "ab.txt", "c.csv"}) std::ofstream(temp / name) << name;
  const std::string folder = temp / "";
  const Output all = ops::match_filenames_once(graph, {folder + "*.txt", folder + "a.txt"});
  const Output one = ops::match_filenames_once(graph, {folder + "?.txt"});
  const Output exact = ops::match_filenames_once(graph, {folder + "c.csv"});
  const Output none = ops::match_filenames_once(graph, {folder + "*.png"});
  std::ofstream(temp / "later.txt") << "later";
  start();
  const auto quoted = [&](const std::string& name) { return "'" + folder + name + "'"; };
  EXPECT_EQ(next(all), quoted("a.txt") + " " + quoted("ab.txt") + " " + quoted("b.txt"));
  EXPECT_EQ(next(one), quoted("a.txt") + " " + quoted("b.txt"));
  EXPECT_EQ(next(exact), quoted("c.csv"));
  EXPECT_EQ(next(none), "");
}

TEST_F(QueueInputs, ARunThatGoesOnBeginsItsEpochsAgainWhichItsStartSays) {
  for (int session_number = 0; session_number < 2; ++session_number) {
    OwnedGraph own(default_plugins());
    const Output x = ops::cast(
        ops::batch({ops::dequeue(ops::range_input_producer(own, 4, {.num_epochs = 1, .shuffle = false}))[0]}, 2)[0],
        DType::kFloat32);
    const Output w = ops::variable(own, "w", Tensor(0.0f));
    const Output train = own.minimize(ops::reduce_mean(ops::square(x - w)));
    log.clear();
    MonitoredTrainingSession monitored(own, options("run"));
    monitored.scope([&] {
      while (!monitored.should_stop()) monitored.run({train});
    });
    EXPECT_EQ(monitored.global_step(), 2 * (session_number + 1)) << "two batches in each run, and a good end";
    EXPECT_THAT(log, HasSubstr("will see its input in another order: 'range_input_producer/rows' begins with its first "
                               "epoch again"));
  }
}

TEST_F(QueueInputs, AStopWhileAProducerWaitsLeavesTheVariablesFitToBeSaved) {
  OwnedGraph own(default_plugins());
  const Output y = ops::cast(ops::dequeue(ops::range_input_producer(own, 4, {.capacity = 1}))[0], DType::kFloat32);
  const Output w = ops::variable(own, "w", Tensor(0.0f));
  const Output train = own.minimize(ops::square(y - w));
  {
    TrainingSessionOptions o = options("run");
    o.hooks.push_back(plugin_hook("stop_at_step", {{"last_step", std::int64_t{3}}}));
    MonitoredTrainingSession monitored(own, o);
    monitored.scope([&] {
      while (!monitored.should_stop()) monitored.run({train});
    });
  }
  EXPECT_THAT(log, HasSubstr("model.ckpt-3"));
}

TEST_F(QueueInputs, EachQueueSaysHowFullItIs) {
  ops::shuffle_batch({ops::batch({counted(8)}, 2)[0]}, 2, 10, 4);
  std::vector<std::string> tags;
  for (const Output& s : graph.collection(collections::kSummaries)) tags.push_back(s.name());
  EXPECT_EQ(tags.size(), 3u);
}

TEST_F(QueueInputs, AnEstimatorIsFedByOne) {
  const InputFn input = [](const InputArgs& args) {
    const ops::QueueRef rows = ops::input_producer(
        ops::constant(args.graph, Tensor({4, 2}, {0.f, 2.f, 1.f, 5.f, 2.f, 8.f, 3.f, 11.f})), {.num_epochs = 5});
    const Output row = ops::dequeue(rows)[0];
    const std::vector<Output> xy = ops::split(row, 2);
    InputResult result;
    result.features = ops::batch({{"x", xy[0]}, {"y", xy[1]}}, 2);
    result.labels = {result.features[1]};
    return result;
  };
  const ModelFn model = [](const ModelArgs& args) -> EstimatorSpec {
    const Output w = ops::variable(args.graph, "w", Tensor(0.0f));
    const Output loss = ops::reduce_mean(ops::square(w * args.feature("x") - args.label()));
    return {args, {.loss = loss, .train_op = args.minimize(loss)}};
  };
  Estimator estimator(model, {.plugins = default_plugins(), .model_dir = temp / "est"});
  estimator.train(input);
  EXPECT_EQ(estimator.latest_checkpoint(), temp / "est/model.ckpt-10");
}

}  // namespace
}  // namespace belay
