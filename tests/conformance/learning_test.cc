// SPDX-License-Identifier: Apache-2.0
// Section 14 of the catalogue, slim.learning, through the face.
#include <belay/ops/normalization.h>
#include <belay/ops/queues.h>
#include <belay/ops/summaries.h>
#include <belay/runtime/checkpoint.h>
#include <belay/runtime/learning.h>
#include <belay/runtime/session.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/api/program.h"

namespace belay {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Learning : public ProgramTest {
 protected:
  // Fits y = 3 x + 2; the loss.
  static Output line_loss(OwnedGraph& net) {
    const Output x = ops::random_uniform(net, {64}, -1, 1);
    const Output weight = ops::variable(net, "weight", Tensor(0.0f));
    const Output bias = ops::variable(net, "bias", Tensor(0.0f));
    return ops::reduce_mean(ops::square(weight * x + bias - (x * 3.0 + 2.0)), {}, false, "loss");
  }
  TrainOpOptions descent(double rate = 0.1) {
    TrainOpOptions o{.optimizer = {.learning_rate = {.learning_rate = rate}}};
    o.log = log_options();
    return o;
  }
  LearningOptions loop(const std::string& folder, std::int64_t steps) {
    LearningOptions o;
    if (!folder.empty()) o.logdir = temp / folder;
    o.number_of_steps = steps;
    o.threads = 1;
    o.log = log_options();
    return o;
  }
  // Trains a new graph; the last loss.
  double trained(const LearningOptions& options, const TrainOpOptions& op) {
    OwnedGraph own(default_plugins());
    return train(own, create_train_op(own, line_loss(own), op), options);
  }
  std::vector<float> values(OwnedSession& session, const Output& o) {
    const RunResult r = session.run({o});
    const float* data = r[0].data<const float>();
    return {data, data + r[0].size()};
  }
  OwnedGraph graph{default_plugins()};
};

// Gradients are dense here: there is no sparse one.
TEST_F(Learning, SLIM_01_AGradientIsClippedByItsOwnNormAndKeepsItsDirection) {
  const Output v = ops::variable(graph, "v", Tensor({2}, {0.0f, 0.0f}));
  const auto clipped = clip_gradient_norms({{ops::constant(graph, Tensor({2}, {3.0f, 4.0f})), v},
                                            {ops::constant(graph, Tensor({2}, {0.3f, 0.4f})), v},
                                            {Output(), v}},
                                           1.0);
  EXPECT_FALSE(clipped[2].gradient);
  OwnedSession session(graph);
  EXPECT_THAT(values(session, clipped[0].gradient), ::testing::Pointwise(::testing::FloatNear(1e-6f), {0.6f, 0.8f}));
  EXPECT_THAT(values(session, clipped[1].gradient), ::testing::Pointwise(::testing::FloatNear(1e-6f), {0.3f, 0.4f}));
}

TEST_F(Learning, SLIM_02_GradientsAreMultipliedByVariableWithANumberOrAValue) {
  const Output a = ops::variable(graph, "a", Tensor(0.0f)), b = ops::variable(graph, "b", Tensor(0.0f));
  const Output factor = ops::variable(graph, "factor", Tensor(2.5), ops::VariableKind::kGlobal);
  const std::vector<GradientAndVariable> gradients = {{ops::constant(graph, Tensor(2.0f)), a},
                                                      {ops::constant(graph, Tensor(4.0f)), b}};
  const auto multiplied = multiply_gradients(gradients, {{.variable = "a", .number = 3}});
  const auto by_value = multiply_gradients(gradients, {{.variable = "b", .scalar = factor}});
  const Output init = graph.global_variables_initializer();
  EXPECT_THAT(error_of([&] { multiply_gradients(gradients, {}); }), HasSubstr("there are no multipliers"));
  EXPECT_THAT(error_of([&] { multiply_gradients(gradients, {{.variable = "c"}}); }),
              HasSubstr("the variable \"c\" is not among those with gradients: a, b"));
  EXPECT_THAT(error_of([&] {
                multiply_gradients(gradients, {{.variable = "a"}, {.variable = "a"}});
              }),
              HasSubstr("\"a\" has two multipliers"));
  EXPECT_THAT(error_of([&] {
                multiply_gradients({{Output(), a}}, {{.variable = "a"}});
              }),
              HasSubstr("\"a\" has no gradient"));
  OwnedSession session(graph);
  session.run({init});
  EXPECT_EQ(values(session, multiplied[0].gradient), std::vector<float>{6});
  EXPECT_EQ(values(session, multiplied[1].gradient), std::vector<float>{4});
  EXPECT_EQ(values(session, by_value[0].gradient), std::vector<float>{2});
  EXPECT_EQ(values(session, by_value[1].gradient), std::vector<float>{10});
}

TEST_F(Learning, SLIM_03_UpdateOpsArePartOfAStepUnlessTheListIsEmpty) {
  for (const bool runs : {true, false}) {
    OwnedGraph net(default_plugins());
    const Output x = ops::constant(net, Tensor({4, 1}, {1.0f, 2.0f, 3.0f, 6.0f}));  // mean 3, variance 14 / 3
    ops::BatchNormOptions norm;
    norm.momentum = 0.1;
    const Output loss = ops::reduce_mean(ops::square(ops::batch_norm(x, true, norm)));
    TrainOpOptions o = descent();
    if (!runs) o.update_ops.emplace();
    const Output train_op = create_train_op(net, loss, o);
    EXPECT_EQ(log.find("update_ops leaves out operations") != log.npos, !runs) << log;
    const Output mean = net.find("batch_norm/moving_mean"), variance = net.find("batch_norm/moving_variance");
    MonitoredTrainingSession session(net, options());
    for (int i = 0; i < 10; ++i) session.run({train_op});
    const RunResult r = session.run_without_hooks({mean, variance});
    EXPECT_NEAR(r[0].data<const float>()[0], runs ? 3 : 0, 1e-5);
    EXPECT_NEAR(r[1].data<const float>()[0], runs ? 14.0 / 3 : 1, 1e-4);
    session.close();
  }
}

TEST_F(Learning, SLIM_04_TheGlobalStepCountsStepsUnlessItIsLeftOut) {
  for (const bool counts : {true, false}) {
    OwnedGraph net(default_plugins());
    TrainOpOptions o = descent();
    o.counts_steps = counts;
    const Output train_op = create_train_op(net, line_loss(net), o);
    MonitoredTrainingSession session(net, options());
    for (int i = 0; i < 10; ++i) session.run({train_op});
    EXPECT_EQ(session.global_step(), counts ? 10 : 0);
    EXPECT_NE(session.session().run({net.find("weight")})[0].scalar<float>(), 0.0f);
    session.close();
  }
}

TEST_F(Learning, SLIM_05_TheTrainOperationIsOnceInItsCollection) {
  const Output train_op = create_train_op(graph, line_loss(graph), descent());
  const std::vector<Output> there = graph.collection(collections::kTrainOp);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].name(), train_op.name());
}

TEST_F(Learning, TheValueOfTheTrainOperationIsTheLossBeforeTheStep) {
  const Output loss = line_loss(graph), train_op = create_train_op(graph, loss, descent());
  MonitoredTrainingSession session(graph, options());
  const RunResult r = session.run({train_op, loss});
  EXPECT_EQ(r[0].scalar<float>(), r[1].scalar<float>());
  EXPECT_EQ(session.global_step(), 1);
  session.close();
}

TEST_F(Learning, ALossThatIsNotANumberEndsTheStepBeforeAnyUpdate) {
  const Output v = ops::variable(graph, "v", Tensor(1.0f));
  const Output loss = v * std::numeric_limits<double>::infinity();
  const Output train_op = create_train_op(graph, loss, descent());
  MonitoredTrainingSession session(graph, options());
  EXPECT_THAT(error_of([&] { session.run({train_op}); }), HasSubstr("LossTensor is inf or nan"));
  EXPECT_EQ(session.session().run({v})[0].scalar<float>(), 1.0f);
}

TEST_F(Learning, OnlyTheVariablesToTrainAreTrainedAndHaveGradients) {
  const Output loss = line_loss(graph);
  TrainOpOptions o = descent();
  o.variables_to_train = {graph.find("bias")};
  o.summarize_gradients = true;
  const Output train_op = create_train_op(graph, loss, o);
  EXPECT_EQ(graph.collection(collections::kGradients).size(), 1u);
  MonitoredTrainingSession session(graph, options());
  session.run({train_op});
  EXPECT_EQ(session.session().run({graph.find("weight")})[0].scalar<float>(), 0.0f);
  EXPECT_NE(session.session().run({graph.find("bias")})[0].scalar<float>(), 0.0f);
  session.close();
}

// As the two networks of a GAN: each step trains one of them.
TEST_F(Learning, TwoTrainOperationsInTurnsTrainTheirOwnVariables) {
  const Output a = ops::variable(graph, "a", Tensor(1.0f)), b = ops::variable(graph, "b", Tensor(1.0f));
  TrainOpOptions of_a = descent(), of_b = descent();
  of_a.optimizer.name = of_b.optimizer.name = "adam";
  of_a.variables_to_train = {a};
  of_b.variables_to_train = {b};
  const Output train_a = create_train_op(graph, ops::square(a - b), of_a);
  const Output train_b = create_train_op(graph, ops::square(a + b), of_b);
  MonitoredTrainingSession session(graph, options());
  const auto both = [&] {
    const RunResult r = session.session().run({a, b});
    return std::pair{r[0].scalar<float>(), r[1].scalar<float>()};
  };
  session.run({train_b});
  const std::pair<float, float> first = both();
  EXPECT_EQ(first.first, 1.0f);
  EXPECT_NE(first.second, 1.0f);
  session.run({train_a});
  const std::pair<float, float> second = both();
  EXPECT_NE(second.first, 1.0f);
  EXPECT_EQ(second.second, first.second);
  EXPECT_EQ(session.global_step(), 2);
  session.close();
}

TEST_F(Learning, SLIM_07_ATraceIsWrittenEverySoManySteps) {
  LearningOptions o = loop("traced", 30);
  o.trace_every_n_steps = 10;
  trained(o, descent());
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temp / "traced"))
    traces += entry.path().filename().string().starts_with("timeline-");
  EXPECT_GE(traces, 2);
  EXPECT_LE(traces, 3);
}

TEST_F(Learning, SLIM_08_WithoutALogdirNothingMayBeWritten) {
  const Output loss = line_loss(graph), train_op = create_train_op(graph, loss, descent());
  LearningOptions summary = loop("", 3), trace = loop("", 3);
  summary.scaffold.summary_op = ops::scalar_summary("loss", loss);
  trace.trace_every_n_steps = 2;
  EXPECT_THAT(error_of([&] { train(graph, train_op, summary); }), HasSubstr("a summary_op needs a logdir"));
  EXPECT_THAT(error_of([&] { train(graph, train_op, trace); }), HasSubstr("trace_every_n_steps needs a logdir"));
  EXPECT_THAT(error_of([&] { train(graph, Output(), loop("", 3)); }), HasSubstr("there is no train operation"));
  EXPECT_THAT(error_of([&] { train(graph, train_op, loop("", 0)); }), HasSubstr("number_of_steps must be above 0"));
}

TEST_F(Learning, SLIM_09_AnInitOperationThatSetsNothingIsAnErrorWithTheVariables) {
  const Output train_op = create_train_op(graph, line_loss(graph), descent());
  LearningOptions o = loop("", 3);
  o.scaffold.init_op = ops::group(graph, {}, "nothing");
  EXPECT_THAT(error_of([&] { train(graph, train_op, o); }), HasSubstr("weight"));
}

TEST_F(Learning, SLIM_11_TheInitFunctionComesBehindTheInitOperationAndNotBehindARestore) {
  const double first = trained(loop("first", 60), descent());
  int calls = 0;
  LearningOptions o = loop("second", 1);
  o.scaffold.init_fn = [&](Session& session) {
    ++calls;
    const CheckpointReader from(temp / "first", default_plugins());
    for (const char* name : {"weight", "bias"}) session.assign(name, from.read(name));
  };
  EXPECT_LT(trained(o, descent()), first * 1.5 + 1e-3) << "from the variables of the first";
  EXPECT_EQ(calls, 1);
  o.number_of_steps = 3;
  trained(o, descent());
  EXPECT_EQ(calls, 1) << "restored";
}

TEST_F(Learning, SLIM_13_AMultiplierMakesTheSameRateLearnFaster) {
  const auto with = [&](double multiplier) {
    TrainOpOptions o = descent(1e-4);
    o.gradient_multipliers = {{.variable = "weight", .number = multiplier}, {.variable = "bias", .number = multiplier}};
    return trained(loop("", 40), o);
  };
  EXPECT_LT(with(1000), with(1) / 10);
}

TEST_F(Learning, SLIM_14_TheEndOfTheInputIsTheEndAndItsStepIsSaved) {
  const ops::QueueRef queue = ops::fifo_queue(graph, 32, {{DType::kFloat32, {}}}, "numbers");
  const Output full = ops::constant(graph, Tensor({5}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}));
  const Output put = ops::enqueue_many(queue, {full}), close = ops::queue_close(queue);
  const Output x = ops::dequeue(queue)[0];
  const Output weight = ops::variable(graph, "weight", Tensor(0.0f));
  const Output train_op = create_train_op(graph, ops::square(weight * x - x * 3.0), descent(0.001));
  LearningOptions o = loop("epochs", 1);
  o.number_of_steps.reset();
  o.scaffold.init_fn = [&](Session& session) {
    session.run({put});
    session.run({close});
  };
  train(graph, train_op, o);
  EXPECT_TRUE(std::filesystem::exists(temp / "epochs/model.ckpt-5")) << log;
}

TEST_F(Learning, AStepFunctionOfTheProgramMayEndTheLoop) {
  LearningOptions o = loop("", 100);
  int calls = 0;
  o.train_step_fn = [&](LearningLoop& l) {
    LearningStep step = train_step(l);
    step.stop = ++calls == 4;
    return step;
  };
  trained(o, descent());
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(log, HasSubstr("global step 4: loss = "));
  EXPECT_EQ(log.find("global step 5:"), log.npos);
}

TEST_F(Learning, AnEvaluationLoopEvaluatesANewCheckpointSoOftenAsAsked) {
  trained(loop("trained", 20), descent());
  const Output weight = ops::variable(graph, "weight", Tensor(0.0f));
  const Output runs = ops::variable(graph, "runs", Tensor(0.0f), ops::VariableKind::kLocal);
  EvaluationLoopOptions o;
  o.eval_ops = {ops::assign_add(runs, ops::constant(graph, Tensor(1.0f))).operation()};
  o.final_ops = {weight, runs};
  o.num_evals = 3;
  o.max_number_of_evaluations = 1;
  o.threads = 1;
  o.log = log_options();
  const std::vector<Tensor> values = evaluation_loop(graph, temp / "trained", o);
  ASSERT_EQ(values.size(), 2u);
  const CheckpointReader reader(temp / "trained", default_plugins());
  EXPECT_EQ(TensorView(values[0]).scalar<float>(), TensorView(reader.read("weight")).scalar<float>());
  EXPECT_EQ(TensorView(values[1]).scalar<float>(), 3.0f);
}

TEST_F(Learning, T_134_ATrainingThatIsAtItsEndHasNoLossToReturn) {
  const double first = trained(loop("done", 5), descent());
  EXPECT_TRUE(std::isfinite(first));
  EXPECT_TRUE(std::isnan(trained(loop("done", 5), descent()))) << "no step was made";
  EXPECT_TRUE(std::isfinite(trained(loop("done", 6), descent())));
}

TEST_F(Learning, T_134_AStepFunctionThatReturnsNoLossHasNone) {
  LearningOptions o = loop("", 1);
  o.train_step_fn = [](LearningLoop& l) { return LearningStep{.stop = train_step(l).stop}; };
  EXPECT_TRUE(std::isnan(trained(o, descent())));
}

TEST_F(Learning, T_137_AnEvaluationLoopOfFinalOperationsAloneFetchesThemOnce) {
  trained(loop("trained", 20), descent());
  const Output weight = ops::variable(graph, "weight", Tensor(0.0f));
  EvaluationLoopOptions o;
  o.final_ops = {weight};
  o.num_evals = 3;
  o.max_number_of_evaluations = 1;
  o.threads = 1;
  o.log = log_options();
  const std::vector<Tensor> values = evaluation_loop(graph, temp / "trained", o);
  ASSERT_EQ(values.size(), 1u);
  const CheckpointReader reader(temp / "trained", default_plugins());
  EXPECT_EQ(TensorView(values[0]).scalar<float>(), TensorView(reader.read("weight")).scalar<float>());
}

TEST_F(Learning, AnEvaluationLoopWithoutACheckpointEndsAtItsTimeout) {
  EvaluationLoopOptions o;
  o.final_ops = {ops::variable(graph, "weight", Tensor(0.0f))};
  o.timeout_secs = 0;
  o.threads = 1;
  o.log = log_options();
  EXPECT_TRUE(evaluation_loop(graph, temp / "nothing", o).empty());
  o.num_evals = 0;
  EXPECT_THAT(error_of([&] { evaluation_loop(graph, temp / "nothing", o); }), HasSubstr("num_evals must be above 0"));
}

TEST_F(Learning, GroupsAndSeveralBatchesWorkAsInMinimize) {
  TrainOpOptions o = descent();
  o.optimizer.accumulate = 2;
  o.optimizer.groups = {{.vars = "weight", .from_step = 2}};
  const Output train_op = create_train_op(graph, line_loss(graph), o);
  MonitoredTrainingSession session(graph, options());
  const auto weight = [&] { return session.session().run({graph.find("weight")})[0].scalar<float>(); };
  session.run({train_op});
  session.run({train_op});
  EXPECT_EQ(weight(), 0.0f);
  session.run({train_op});
  EXPECT_NE(weight(), 0.0f);
  session.close();
}

}  // namespace
}  // namespace belay
