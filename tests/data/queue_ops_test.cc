// SPDX-License-Identifier: Apache-2.0
// belay/ops/queues.h through a session, and what its nodes refuse while the graph is built.
#include "belay/ops/queues.h"

#include "belay/ops/math.h"
#include "runtime/data/make_queue.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class QueueOpsTest : public SessionTest {
 protected:
  DirectSession& start() {
    DirectSessionOptions options;
    options.queues = make_queue;
    return open(options);
  }
  Output number(std::int64_t v) { return ops::constant(g, Tensor(v)); }
  Output numbers(std::vector<std::int64_t> v) {
    return ops::constant(g, Tensor({static_cast<std::int64_t>(v.size())}, std::move(v)));
  }
  NodeBuilder queue_node(const std::vector<DType>& dtypes, const std::vector<std::int64_t>& shapes) {
    NodeBuilder n = g.node("FIFOQueue", "q");
    n.attr("capacity", std::int64_t{4}).attr("dtypes", dtypes).attr("shapes", shapes);
    return n;
  }
};

TEST_F(QueueOpsTest, ASizeCountsWhatIsThere) {
  const ops::QueueRef q = ops::fifo_queue(g, 4, {{DType::kInt64, {}}}, "q");
  const Output put = ops::enqueue_many(q, {numbers({1, 2, 3})}), size = ops::queue_size(q);
  const std::vector<Output> out = ops::dequeue(q);
  EXPECT_EQ(size.dtype(), DType::kInt64);
  EXPECT_EQ(size.rank(), 0);
  start();
  EXPECT_EQ(value<std::int64_t>(size), 0);
  run(put);
  EXPECT_EQ(value<std::int64_t>(size), 3);
  EXPECT_EQ(value<std::int64_t>(out[0]), 1);
  EXPECT_EQ(value<std::int64_t>(size), 2);
}

TEST_F(QueueOpsTest, SeveralElementsAreStackedComponentByComponent) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {}}, {DType::kFloat32, {2}}}, "q");
  const Output put = ops::enqueue_many(
      q, {numbers({1, 2, 3}), ops::constant(g, Tensor({3, 2}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}))});
  const std::vector<Output> out = ops::dequeue_many(q, 2), one = ops::dequeue(q);
  EXPECT_EQ(out[0].dims(), Dims{2});
  EXPECT_EQ(out[1].dims(), (Dims{2, 2}));
  EXPECT_EQ(one[1].dims(), Dims{2});
  start();
  run(put);
  const RunResult r = session().handle().run({out[0], out[1]});
  EXPECT_EQ(r[0].dims(), Dims{2});
  EXPECT_EQ(r[0].data<std::int64_t>()[1], 2);
  EXPECT_EQ(r[1].dims(), (Dims{2, 2}));
  EXPECT_EQ(r[1].data<float>()[3], 4);
  EXPECT_EQ(values<float>(one[1]), (std::vector<float>{5, 6}));
}

TEST_F(QueueOpsTest, OneElementStackedKeepsItsFirstDimension) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kFloat32, {2}}}, "q");
  const Output put = ops::enqueue(q, {ops::constant(g, Tensor({2}, {1.0f, 2.0f}))});
  const Output out = ops::dequeue_many(q, 1)[0];
  EXPECT_EQ(out.dims(), (Dims{1, 2}));
  start();
  run(put);
  EXPECT_EQ(session().handle().run({out})[0].dims(), (Dims{1, 2}));
}

TEST_F(QueueOpsTest, AtTheEndManyIsAnErrorAndUpToGivesTheRest) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {}}}, "q");
  const Output put = ops::enqueue_many(q, {numbers({1, 2, 3, 4, 5})}), close = ops::queue_close(q);
  const Output many = ops::dequeue_many(q, 4)[0], up_to = ops::dequeue_up_to(q, 4)[0];
  // The following is made for each number of elements that comes.
  const Output twice = up_to * 2.0;
  EXPECT_EQ(up_to.dims(), Dims{-1});
  start();
  run(put);
  run(close);
  EXPECT_EQ(values<std::int64_t>(twice), (std::vector<std::int64_t>{2, 4, 6, 8}));
  EXPECT_EQ(error_of([&] { run(many); }),
            "OUT_OF_RANGE: node 'QueueDequeueMany' (QueueDequeue): FIFOQueue 'q' is closed and has insufficient "
            "elements (requested 4, current size 1)");
  EXPECT_EQ(values<std::int64_t>(twice), std::vector<std::int64_t>{10});
  EXPECT_EQ(error_of([&] { run(up_to); }),
            "OUT_OF_RANGE: node 'QueueDequeueUpTo' (QueueDequeue): FIFOQueue 'q' is closed and has insufficient "
            "elements (requested 4, current size 0)");
  EXPECT_EQ(error_of([&] { run(put); }), "CANCELLED: node 'QueueEnqueueMany' (QueueEnqueue): FIFOQueue 'q' is closed");
}

TEST_F(QueueOpsTest, APaddingQueueFillsUpToTheLargest) {
  const ops::QueueRef q = ops::padding_fifo_queue(g, 8, {{DType::kInt64, {-1}}, {DType::kString, {-1}}}, "q");
  const Output x = ops::placeholder(g, DType::kInt64, {-1}, "x"), s = ops::placeholder(g, DType::kString, {-1}, "s");
  const Output put = ops::enqueue(q, {x, s});
  const std::vector<Output> out = ops::dequeue_many(q, 3);
  EXPECT_EQ(out[0].dims(), (Dims{3, -1}));
  start();
  for (const std::int64_t n : {1, 3, 0}) {
    Tensor text(DType::kString, {n});
    for (std::int64_t i = 0; i < n; ++i) text.set_text(static_cast<std::size_t>(i), "a" + std::to_string(i));
    const Tensor row({n}, std::vector<std::int64_t>(static_cast<std::size_t>(n), n));
    session().handle().run({put}, {{x, row}, {s, text}});
  }
  const RunResult r = session().handle().run({out[0], out[1]});
  ASSERT_EQ(r[0].dims(), (Dims{3, 3}));
  ASSERT_EQ(r[1].dims(), (Dims{3, 3}));
  std::vector<std::int64_t> got;
  std::string texts;
  for (std::size_t i = 0; i < 9; ++i) {
    got.push_back(r[0].data<std::int64_t>()[i]);
    texts += std::string(r[1].text(i)) + ",";
  }
  EXPECT_EQ(got, (std::vector<std::int64_t>{1, 0, 0, 3, 3, 3, 0, 0, 0}));
  EXPECT_EQ(texts, "a0,,,a0,a1,a2,,,,");
}

TEST_F(QueueOpsTest, AFifoQueueDoesNotPad) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {-1}}}, "q");
  const Output put_one = ops::enqueue(q, {numbers({1})}), put_two = ops::enqueue(q, {numbers({1, 2})});
  const Output out = ops::dequeue_many(q, 2)[0];
  start();
  run(put_one);
  run(put_two);
  EXPECT_EQ(
      error_of([&] { run(out); }),
      "INVALID_ARGUMENT: node 'QueueDequeueMany' (QueueDequeue): [B3001] queue 'q': elements of shapes [1] and [2] "
      "cannot be dequeued together; a PaddingFIFOQueue would pad them");
}

TEST_F(QueueOpsTest, RowsOfAnUnknownRankAreCheckedWhenItRuns) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {}}, {DType::kInt64, {}}}, "q");
  const Output a = ops::placeholder_of_any_rank(g, DType::kInt64, "a");
  const Output b = ops::placeholder_of_any_rank(g, DType::kInt64, "b");
  const Output put = ops::enqueue_many(q, {a, b}), size = ops::queue_size(q);
  start();
  const auto error = [&](const Tensor& x, const Tensor& y) {
    return error_of([&] { session().handle().run({put}, {{a, x}, {b, y}}); });
  };
  const Tensor one(std::int64_t{1}), none({0}, std::vector<std::int64_t>{});
  const Tensor two({2}, std::vector<std::int64_t>{1, 2}), three({3}, std::vector<std::int64_t>{1, 2, 3});
  const std::string node = "INVALID_ARGUMENT: node 'QueueEnqueueMany' (QueueEnqueue): ";
  EXPECT_EQ(error(one, two), node + "a scalar component has no first dimension to take elements from");
  EXPECT_EQ(error(two, one), node + "a scalar component has no first dimension to take elements from");
  EXPECT_EQ(error(two, three), node + "the components bring 2 and 3 elements; they must be equal");
  EXPECT_EQ(error(none, three), node + "the components bring 0 and 3 elements; they must be equal");
  EXPECT_EQ(value<std::int64_t>(size), 0) << "nothing of it went in";
  EXPECT_EQ(error(two, two), "no error");
  EXPECT_EQ(value<std::int64_t>(size), 2);
}

TEST_F(QueueOpsTest, ADequeueThatDoesNotFitTheQueueIsAnError) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {}}, {DType::kInt64, {}}}, "q");
  const Output put = ops::enqueue(q, {number(1), number(2)});
  const Output fewer = ops::dequeue({q.handle, {{DType::kInt64, {}}}}, "fewer")[0];
  const Output more =
      ops::dequeue({q.handle, {{DType::kInt64, {}}, {DType::kInt64, {}}, {DType::kInt64, {}}}}, "more")[0];
  start();
  run(put);
  EXPECT_EQ(error_of([&] { run(fewer); }),
            "INVALID_ARGUMENT: node 'fewer' (QueueDequeue): the queue's elements have 2 components, expected 1");
  run(put);
  EXPECT_EQ(error_of([&] { run(more); }),
            "INVALID_ARGUMENT: node 'more' (QueueDequeue): the queue's elements have 2 components, expected 3");
}

TEST_F(QueueOpsTest, AnElementThatDoesNotFitTheQueueIsAnError) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {}}, {DType::kUInt8, {}}}, "q");
  const Output fewer = ops::enqueue({q.handle, {{DType::kInt64, {}}}}, {number(1)}, "fewer");
  const Output wider =
      ops::enqueue({q.handle, {{DType::kInt64, {}}, {DType::kInt64, {}}}}, {number(1), number(2)}, "wider");
  const Output size = ops::queue_size(q);
  start();
  EXPECT_EQ(
      error_of([&] { run(fewer); }),
      "INVALID_ARGUMENT: node 'fewer' (QueueEnqueue): [B3001] queue 'q': an element must have 2 components, got 1");
  EXPECT_EQ(error_of([&] { run(wider); }),
            "INVALID_ARGUMENT: node 'wider' (QueueEnqueue): [B3001] queue 'q': component 1 of an element must be "
            "uint8, got int64");
  EXPECT_EQ(value<std::int64_t>(size), 0);
}

// Known only when it runs: the enqueue refuses it, before a consumer could lose it.
TEST_F(QueueOpsTest, T_11_AnElementOfAShapeThatTheQueueHasNotIsRefusedByItsEnqueue) {
  const Output any = ops::placeholder_of_any_rank(g, DType::kFloat32, "any");
  for (const bool shuffles : {false, true}) {
    const std::string name = shuffles ? "shuffled" : "q";
    const std::vector<ops::QueueComponent> pairs{{DType::kFloat32, {2}}};
    const ops::QueueRef q =
        shuffles ? ops::random_shuffle_queue(g, 4, 0, pairs, 1, name) : ops::fifo_queue(g, 4, pairs, name);
    ops::enqueue(q, {any}, name + "_put");
    ops::enqueue_many(q, {any}, name + "_put_many");
    ops::queue_size(q, name + "_size");
  }
  start();
  const auto error = [&](const std::string& node, const Tensor& value) {
    const Output put = g.find(node);
    return error_of([&] { session().handle().run({put}, {{any, value}}); });
  };
  for (const std::string name : {"q", "shuffled"}) {
    const std::string wrong =
        " (QueueEnqueue): [B3001] queue '" + name + "': component 0 of an element must have the shape [2], got ";
    EXPECT_EQ(error(name + "_put", Tensor({3}, {1.0f, 2.0f, 3.0f})),
              "INVALID_ARGUMENT: node '" + name + "_put'" + wrong + "[3]");
    EXPECT_EQ(error(name + "_put_many", Tensor({1, 3}, {1.0f, 2.0f, 3.0f})),
              "INVALID_ARGUMENT: node '" + name + "_put_many'" + wrong + "[3]");
    EXPECT_EQ(value<std::int64_t>(g.find(name + "_size")), 0);
    EXPECT_EQ(error(name + "_put", Tensor({2}, {1.0f, 2.0f})), "no error");
    EXPECT_EQ(error(name + "_put_many", Tensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f})), "no error");
    EXPECT_EQ(value<std::int64_t>(g.find(name + "_size")), 3);
  }
}

TEST_F(QueueOpsTest, WhatIsNoQueueIsNamed) {
  const Output size = g.node("QueueSize", "size").in(number(1)).output();
  start();
  EXPECT_EQ(error_of([&] { run(size); }), "INVALID_ARGUMENT: node 'size' (QueueSize): [B5074] 'Const' is not a queue");
}

TEST_F(QueueOpsTest, MalformedShapesOfComponentsAreRefused) {
  const auto error = [&](const std::vector<std::int64_t>& shapes) {
    return error_of([&] { queue_node({DType::kFloat32}, shapes).output(); });
  };
  EXPECT_EQ(error({1, 5}), "no error");
  EXPECT_EQ(error({-1}), "no error");
  EXPECT_EQ(error({0}), "no error");
  for (const std::vector<std::int64_t>& bad : std::vector<std::vector<std::int64_t>>{
           {1}, {2, 5}, {0, 3, 1}, {-2}, {std::int64_t{1} << 40, 1}, {(std::int64_t{1} << 32) + 1, 7}}) {
    SCOPED_TRACE(dims_text(bad));
    EXPECT_EQ(error(bad),
              "INVALID_ARGUMENT: node 'q' (FIFOQueue): attribute 'shapes' must be the rank of each component, -1 or "
              "followed by as many dimensions, got " +
                  dims_text(bad));
  }
  const std::string count = "attributes 'dtypes' and 'shapes' must have one entry per component, got 1 and ";
  EXPECT_EQ(error({}), "INVALID_ARGUMENT: node 'q' (FIFOQueue): " + count + "0");
  EXPECT_EQ(error({0, 0}), "INVALID_ARGUMENT: node 'q' (FIFOQueue): " + count + "2");
  // The nodes that work on a queue describe its elements, too.
  const Output q = queue_node({DType::kFloat32}, {0}).output();
  const auto with = [&](const char* op, const std::vector<std::int64_t>& shapes) {
    return error_of([&] {
      NodeBuilder n = g.node(op, "n");
      n.in(q).attr("dtypes", std::vector<DType>{DType::kFloat32}).attr("shapes", shapes);
      if (std::string(op) == "QueueEnqueue") n.in(ops::constant(g, Tensor(1.0f)));
      n.operation();
    });
  };
  for (const char* op : {"QueueEnqueue", "QueueDequeue"}) {
    const std::string node = std::string("INVALID_ARGUMENT: node 'n' (") + op + "): ";
    EXPECT_EQ(with(op, {3, 1}), node +
                                    "attribute 'shapes' must be the rank of each component, -1 or followed by as many "
                                    "dimensions, got [3, 1]");
    EXPECT_EQ(with(op, {}), node + count + "0");
    EXPECT_EQ(error_of([&] { g.node(op, "n").in(q).operation(); }),
              node + "attribute 'dtypes' is missing; it is a list of dtypes: of the components of an element");
  }
}

TEST_F(QueueOpsTest, ADequeueOfNoElementsIsRefused) {
  const ops::QueueRef q = ops::fifo_queue(g, 4, {{DType::kInt64, {}}}, "q");
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-3}}) {
    const std::string why = " (QueueDequeue): attribute 'n' must be at least 1, got " + std::to_string(n);
    EXPECT_EQ(error_of([&] { ops::dequeue_many(q, n, "many"); }), "INVALID_ARGUMENT: node 'many'" + why);
    EXPECT_EQ(error_of([&] { ops::dequeue_up_to(q, n, "up_to"); }), "INVALID_ARGUMENT: node 'up_to'" + why);
  }
}

TEST_F(QueueOpsTest, BadQueuesAndElementsAreNamed) {
  EXPECT_EQ(error_of([&] {
              ops::fifo_queue(g, 0, {{DType::kInt64, {}}}, "bad");
            }),
            "INVALID_ARGUMENT: node 'bad' (FIFOQueue): attribute 'capacity' must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { ops::padding_fifo_queue(g, 4, {}, "bad"); }),
            "INVALID_ARGUMENT: node 'bad' (PaddingFIFOQueue): attribute 'dtypes' must name at least one component");
  const ops::QueueRef q = ops::fifo_queue(g, 4, {{DType::kInt64, {}}, {DType::kFloat32, {-1, 2}}}, "q");
  const Output matrix = ops::placeholder(g, DType::kFloat32, {5, 2}),
               wide = ops::placeholder(g, DType::kFloat32, {5, 3});
  const auto error = [&](const std::vector<Output>& components) {
    return error_of([&] { ops::enqueue(q, components, "put"); });
  };
  const std::string node = "INVALID_ARGUMENT: node 'put' (QueueEnqueue): ";
  EXPECT_EQ(error({number(1), matrix}), "no error");
  EXPECT_EQ(error({number(1)}), node + "expected the queue and its 2 components, got 2 inputs");
  EXPECT_EQ(error({number(1), matrix, matrix}), node + "expected the queue and its 2 components, got 4 inputs");
  EXPECT_EQ(error({matrix, matrix}), node + "input 1 (float32 [5, 2]) must be int64");
  EXPECT_EQ(error({number(1), wide}),
            node + "input 2 (float32 [5, 3]) does not fit the queue's component of shape [?, 2]");
  EXPECT_EQ(error_of([&] {
              ops::enqueue_many(q, {number(1), matrix}, "put");
            }),
            node + "input 1 (int64 []) needs a first dimension to take elements from");
  EXPECT_EQ(error_of([&] {
              ops::enqueue_many(q, {numbers({1, 2}), matrix}, "put");
            }),
            node + "input 2 (float32 [5, 2]) does not fit the queue's component of shape [?, 2]");
}

TEST_F(QueueOpsTest, WhatIsNotKeptDoesNotComeIn) {
  const ops::QueueRef q = ops::fifo_queue(g, 8, {{DType::kInt64, {}}}, "q");
  const Output yes = ops::constant(g, Tensor(true)), no = ops::constant(g, Tensor(false));
  const Output some = ops::constant(g, Tensor({3}, {false, true, true}));
  const Output one = ops::enqueue_if(q, yes, {number(1)}), none = ops::enqueue_if(q, no, {number(2)});
  const Output rows = ops::enqueue_many_if(q, some, {numbers({3, 4, 5})});
  const Output no_rows = ops::enqueue_many_if(q, no, {numbers({6, 7})});
  const Output out = ops::dequeue_many(q, 3)[0], size = ops::queue_size(q);
  const Output fewer = ops::enqueue_many_if(q, some, {numbers({8, 9})}, "fewer");
  start();
  for (const Output& put : {one, none, rows, no_rows}) run(put);
  EXPECT_EQ(value<std::int64_t>(size), 3);
  EXPECT_EQ(values<std::int64_t>(out), (std::vector<std::int64_t>{1, 4, 5}));
  EXPECT_EQ(error_of([&] { run(fewer); }),
            "INVALID_ARGUMENT: node 'fewer' (QueueEnqueue): what to keep has 3 elements, the components bring 2; they "
            "must be equal");
}

TEST_F(QueueOpsTest, RowsOfAnEpochAreInAnOrderOfItsNumberSeedAndName) {
  const Output epoch = ops::placeholder(g, DType::kInt64, {}), rows = numbers({0, 1, 2, 3, 4, 5, 6, 7});
  const Output words = ops::constant(g, Tensor({2, 2}, std::vector<std::string_view>{"a", "b", "c", "d"}));
  const Output plain = ops::epoch_rows(epoch, {rows})[0];
  const Output shuffled = ops::epoch_rows(epoch, {rows}, true, 7, "shuffled")[0];
  const Output other_seed = ops::epoch_rows(epoch, {rows}, true, 8, "seed")[0];
  const Output other_name = ops::epoch_rows(epoch, {rows}, true, 7, "name")[0];
  const std::vector<Output> pair = ops::epoch_rows(epoch, {numbers({10, 20}), words}, true, 1, "pair");
  EXPECT_EQ(shuffled.dims(), Dims{8});
  start();
  const auto order = [&](const Output& o, std::int64_t e) { return values<std::int64_t>(o, {{epoch, Tensor(e)}}); };
  EXPECT_EQ(order(plain, 3), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(order(shuffled, 1), order(shuffled, 1));
  EXPECT_NE(order(shuffled, 1), order(shuffled, 2));
  EXPECT_NE(order(shuffled, 1), order(other_seed, 1));
  EXPECT_NE(order(shuffled, 1), order(other_name, 1));
  for (std::int64_t e = 1; e < 4; ++e) {
    const RunResult r = session().handle().run({pair[0], pair[1]}, {{epoch, Tensor(e)}});
    const bool swapped = r[0].data<std::int64_t>()[0] == 20;
    EXPECT_EQ(detail::view(r[1].data<const belay_str>()[1]), swapped ? "d" : "b");
  }
}

TEST_F(QueueOpsTest, RowsThatAreNoneOrDoNotMatchAreRefused) {
  const Output epoch = number(1);
  const Output none = ops::epoch_rows(epoch, {numbers({})}, false, 0, "none")[0];
  const Output uneven = ops::epoch_rows(epoch, {numbers({1, 2}), numbers({1})}, false, 0, "uneven")[1];
  EXPECT_EQ(error_of([&] { ops::epoch_rows(epoch, {epoch}, false, 0, "bad"); }),
            "INVALID_ARGUMENT: node 'bad' (EpochRows): input 1 (int64 []) needs a first dimension to take rows from");
  start();
  EXPECT_EQ(error_of([&] { run(none); }),
            "INVALID_ARGUMENT: node 'none' (EpochRows): there are no rows: an epoch of none would be begun again for "
            "ever");
  EXPECT_EQ(error_of([&] { run(uneven); }),
            "INVALID_ARGUMENT: node 'uneven' (EpochRows): the tensors have 2 and 1 rows; they must be equal");
}

TEST_F(QueueOpsTest, ARunThatFailsBehindAWriteOfLocalVariablesAloneLeavesTheStateFitToBeSaved) {
  const ops::QueueRef q = ops::fifo_queue(g, 1, {{DType::kInt64, {}}}, "q");
  const auto counted = [&](std::string_view name, ops::VariableKind kind) {
    return ops::enqueue(q, {ops::count_up_to(ops::variable(g, name, Tensor(std::int64_t{0}), kind), 9)});
  };
  const Output local = counted("local", ops::VariableKind::kLocal);
  const Output global = counted("global", ops::VariableKind::kGlobal);
  const Output close = ops::queue_close(q);
  start();
  initialize();
  run(close);
  EXPECT_THROW(run(local), Error);
  EXPECT_FALSE(store->dirty());
  EXPECT_THROW(run(global), Error);
  EXPECT_TRUE(store->dirty());
}

TEST_F(QueueOpsTest, ASessionWithoutQueuesRefusesThem) {
  ops::fifo_queue(g, 4, {{DType::kInt64, {}}}, "q");
  EXPECT_EQ(error_of([&] { open(); }),
            "FAILED_PRECONDITION: [B5071] the graph has the queue 'q', but the session was given no queues");
}

}  // namespace
}  // namespace belay::runtime::testing
