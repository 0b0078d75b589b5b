// SPDX-License-Identifier: Apache-2.0
// LoggingTensorHook and NanTensorHook: sections 15 and 16 of the contract.
#include <cmath>
#include <limits>

#include "belay/ops/queues.h"
#include "runtime/monitored/hooks/default_hooks.h"
#include "tests/conformance/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Texts = std::vector<std::string>;

class LoggingTensorConformance : public HookConformance {
 protected:
  TrainingSessionSetup logging(PluginOptions options, Texts tensors = {"loss"}) {
    options.emplace_back("tensors", std::move(tensors));
    return with("logging_tensor", std::move(options));
  }
  Texts lines() const { return log.of("logging_tensor"); }
  // The runs that printed, from 1.
  Steps printed(int runs, double seconds = 0) {
    Steps which;
    for (int i = 1; i <= runs; ++i) {
      const std::size_t before = lines().size();
      run(1, seconds);
      if (lines().size() > before) which.push_back(i);
    }
    return which;
  }
  std::string refused_with(PluginOptions options, Texts tensors = {"loss"}) {
    options.emplace_back("tensors", std::move(tensors));
    return refused("logging_tensor", std::move(options));
  }
};

TEST_F(LoggingTensorConformance, PROSE_15_FetchesOnlyWhenItIsDueAndTheEndInARunOfItsOwn) {
  EXPECT_EQ(refused_with({{"every_n_iter", n(1)}}, {}), "INVALID_ARGUMENT: 'tensors' is empty; name what to print");
  // The step that it prints is the one before the run: it is fetched with it. At the end it is the one of then.
  new_program();
  open(logging({{"every_n_iter", n(2)}, {"at_end", true}}, {"global_step"}));
  run(4);
  (*session)->close();
  EXPECT_THAT(lines(), ElementsAre("global_step = 0", "global_step = 2 (0.000 sec)", "global_step = 4 (0.000 sec)"));
}

TEST_F(LoggingTensorConformance, LOGT_01_BadPeriodsAreRefused) {
  for (const std::int64_t every : {0, -10}) {
    const std::string text = refused_with({{"every_n_iter", n(every)}});
    EXPECT_THAT(text, HasSubstr("\"every_n_iter\" is " + std::to_string(every) + ", must be at least 1"));
  }
  EXPECT_EQ(refused_with({{"every_n_iter", n(5)}, {"every_n_secs", 5.0}}),
            "INVALID_ARGUMENT: give exactly one of 'every_n_iter' and 'every_n_secs'; both are given");
  EXPECT_EQ(refused_with({}),
            "INVALID_ARGUMENT: give exactly one of 'every_n_iter' and 'every_n_secs', or at_end = true");
}

TEST_F(LoggingTensorConformance, LOGT_02_AtEndAlonePrintsOnceAndThen) {
  open(logging({{"at_end", true}}));
  EXPECT_THAT(printed(3), IsEmpty());
  (*session)->close();
  EXPECT_THAT(lines(), ElementsAre("loss = 2.5"));
}

TEST_F(LoggingTensorConformance, LOGT_03_EveryTenthRunFromTheFirstOn) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    new_program();
    TrainingSessionSetup o = logging({{"every_n_iter", n(10)}});
    o.checkpoint_dir = temp / std::to_string(attempt);
    open(std::move(o));
    EXPECT_EQ(printed(35), (Steps{1, 11, 21, 31}));
    const std::size_t before = lines().size();
    (*session)->close();
    EXPECT_EQ(lines().size(), before);
  }
}

TEST_F(LoggingTensorConformance, LOGT_04_WithAtEndAlsoThen) {
  open(logging({{"every_n_iter", n(10)}, {"at_end", true}}));
  EXPECT_EQ(printed(11), (Steps{1, 11}));
  (*session)->close();  // even if it has just printed
  EXPECT_EQ(lines().size(), 3u);
}

TEST_F(LoggingTensorConformance, LOGT_05_LaterLinesTellTheTimeSinceTheLast) {
  open(logging({{"every_n_iter", n(1)}}));
  run(3, 0.25);
  EXPECT_THAT(lines(), ElementsAre("loss = 1", "loss = 1.5 (0.250 sec)", "loss = 2 (0.250 sec)"));
}

TEST_F(LoggingTensorConformance, LOGT_06_EverySecond) {
  open(logging({{"every_n_secs", 1.0}}));
  run();
  EXPECT_EQ(lines().size(), 1u);
  run();
  EXPECT_EQ(lines().size(), 1u);
  run(1, 1);
  EXPECT_EQ(lines().size(), 2u);
  (*session)->close();
  EXPECT_EQ(lines().size(), 2u);
}

TEST_F(LoggingTensorConformance, LOGT_07_EverySecondAndAtTheEnd) {
  open(logging({{"every_n_secs", 1.0}, {"at_end", true}}));
  run();
  run();
  run(1, 1);
  EXPECT_EQ(lines().size(), 2u);
  (*session)->close();
  EXPECT_EQ(lines().size(), 3u);
}

TEST_F(LoggingTensorConformance, LOGT_08_AFormatIsTheWholeLine) {
  open(logging({{"every_n_iter", n(1)}, {"format", std::string("qqq={loss} at {global_step} {{}}")}},
               {"loss", "global_step"}));
  run(2, 1);
  EXPECT_THAT(lines(), ElementsAre("qqq=1 at 0 {}", "qqq=1.5 at 1 {}"));
}

TEST_F(LoggingTensorConformance, LOGT_09_CountsItsRunsAndKeepsTheOrderOfTheList) {
  new_program(5);
  open(starting_at(7, logging({{"every_n_iter", n(3)}}, {"weight", "global_step", "loss"})));
  EXPECT_EQ(printed(7), (Steps{1, 4, 7}));
  EXPECT_EQ(lines().front(), "weight = 1, global_step = 7, loss = 1");
}

TEST_F(LoggingTensorConformance, LOGT_10_NamesAreFoundInBegin) {
  const auto error_in_begin = [&](const std::string& tensor) {
    const std::string text = error_of([&] { open(logging({{"every_n_iter", n(1)}}, {tensor})); });
    const std::size_t at = text.find("in begin: ");
    return at == std::string::npos ? text : text.substr(at);
  };
  EXPECT_EQ(error_in_begin("los"), "in begin: the graph has no 'los'; did you mean 'loss'?");
  EXPECT_EQ(error_in_begin("loss:1"), "in begin: node 'loss' has 1 outputs, there is no 'loss:1'");
  EXPECT_THAT(error_in_begin("train"), EndsWith("'train' is an operation without a value; name a tensor"));
  // A name without an index is output 0, of a node that has no other.
  new_program();
  const ops::QueueComponent number{DType::kFloat32, {}};
  const ops::QueueRef queue = ops::fifo_queue(program->g, 2, {number, number});
  ops::dequeue(queue, "pair");
  EXPECT_EQ(error_in_begin("pair"), "in begin: 'pair' has 2 outputs; name one, as 'pair:0'");
  new_program();
  open(logging({{"every_n_iter", n(1)}}, {"loss", "loss:0"}));
  run();
  EXPECT_EQ(lines().back(), "loss = 1, loss:0 = 1");
  // A tensor of another graph is told from one of this.
  Trained other(*ops);
  EXPECT_THAT(error_of([&] { (*session)->run({other.loss}); }), HasSubstr("is not an element of this graph"));
}

class NanTensorConformance : public HookConformance {
 protected:
  TrainingSessionSetup watching(PluginOptions options = {}) {
    TrainingSessionSetup o = with("nan_tensor", std::move(options));
    o.hooks.push_back(own_hook("other", probe("other")));
    return o;
  }
  void set_weight(float value) { (*session)->raw_session()->handle().assign("weight", Tensor(value)); }
  bool called(const std::string& what) const {
    return std::find(timeline.begin(), timeline.end(), what) != timeline.end();
  }

  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  static constexpr float kInf = std::numeric_limits<float>::infinity();
};

TEST_F(NanTensorConformance, PROSE_16_LooksAfterEveryRunAtTheLossUnlessToldAnother) {
  open(watching());
  run(2);
  set_weight(kNan);
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("'loss' is nan at step 3"));
  new_program();
  TrainingSessionSetup o = watching({{"tensor", std::string("weight")}, {"fail_on_nan_loss", false}});
  o.checkpoint_dir = temp / "second";
  MonitoredSession& s = open(std::move(o));
  set_weight(kNan);
  run();
  EXPECT_TRUE(s.should_stop());
}

TEST_F(NanTensorConformance, NAN_01_TheRunFailsAndHasNoLastCheckpoint) {
  TrainingSessionSetup o = watching();
  o.checkpoint.save_steps = 100;
  MonitoredSession& s = open(std::move(o));
  const std::string error = error_of([&] {
    s.scope([&] {
      run();
      set_weight(kNan);
      run();
    });
  });
  EXPECT_EQ(error,
            "DIVERGED: hook \"nan_tensor\" (linked in, 1.0.0) in after_run at step 2: [B5043] 'loss' is nan at step 2: "
            "training "
            "has diverged; lower the learning rate or clip the gradients");
  EXPECT_FALSE(called("other.end"));
  EXPECT_TRUE(called("other.on_error"));
  EXPECT_EQ(saved(), (Steps{0}));
}

// TensorFlow lets infinity pass; check_inf = false does so here.
TEST_F(NanTensorConformance, NAN_03_InfinityCountsUnlessItIsAllowedAndOnlyAScalarIsWatched) {
  open(watching());
  set_weight(kInf);
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("'loss' is inf at step 1"));
  new_program();
  TrainingSessionSetup o = watching({{"check_inf", false}});
  o.checkpoint_dir = temp / "allowed";
  open(std::move(o));
  set_weight(kInf);
  EXPECT_EQ(error_of([&] { run(); }), "");
  set_weight(kNan);
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("'loss' is nan"));
  new_program();
  ops::variable(program->g, "vector", Tensor({2}, {1.0f, 2.0f}));
  EXPECT_THAT(error_of([&] {
                open(watching({{"tensor", std::string("vector")}}));
              }),
              EndsWith("nan_tensor watches a floating-point scalar, 'vector:0' (float32 [2]) is none"));
}

// Mended: TensorFlow saves the state that it stopped for, and over the last good one at that.
TEST_F(NanTensorConformance, QUIRK_11_AStateWithNanIsNotSaved) {
  const auto stopping = [&](const std::string& directory) {
    TrainingSessionSetup o = watching({{"fail_on_nan_loss", false}});
    o.checkpoint.save_steps = 100;
    o.checkpoint_dir = temp / directory;
    return o;
  };
  const auto train = [&](TrainingSessionSetup o) {
    MonitoredSession& s = open(std::move(o));
    return error_of([&] {
      s.scope([&] {
        run();
        set_weight(kNan);
        run();
        EXPECT_TRUE(s.should_stop());
      });
    });
  };
  EXPECT_THAT(train(stopping("refused")), HasSubstr("variable 'weight' is not finite"));
  const auto names = [&](const std::string& directory) {
    return posix_file_system().open_directory(temp / directory)->entries();
  };
  EXPECT_THAT(names("refused"), ::testing::Not(::testing::Contains("model.ckpt-2")));
  new_program();
  TrainingSessionSetup o = stopping("kept");
  o.checkpoint.refuse_non_finite = false;
  EXPECT_EQ(train(std::move(o)), "");
  EXPECT_THAT(names("kept"), ::testing::Contains("model.ckpt-2"));
}

// NAN-02: the run that stops for it ends as one that has finished, but for the state that cannot be saved.
TEST_F(NanTensorConformance, T_16d_AStateThatIsNotFiniteLeavesEveryHookItsEnd) {
  TrainingSessionSetup o = watching({{"fail_on_nan_loss", false}});
  o.checkpoint.save_steps = 100;
  MonitoredSession& s = open(std::move(o));
  const std::string error = error_of([&] {
    s.scope([&] {
      set_weight(kNan);
      run();
      EXPECT_TRUE(s.should_stop());
    });
  });
  EXPECT_TRUE(called("other.end"));
  EXPECT_FALSE(called("other.on_error"));
  EXPECT_THAT(error, StartsWith("DIVERGED: [B4002] cannot save"));
  EXPECT_TRUE(s.closed());
  EXPECT_EQ(saved(), (Steps{0}));
}

// TensorFlow adds another failing one, so that the caller's policy does not help.
TEST_F(NanTensorConformance, USER_22_OnePolicyForNan) {
  Manifest manifest;
  manifest.run.dir = run_directory();
  PluginUse own;
  own.plugin = "nan_tensor";
  own.options = {{"fail_on_nan_loss", false, {}, {}}};
  manifest.hooks = {own};
  std::vector<PluginUse> policies;
  for (const PluginUse& use : hooks_of_run(manifest))
    if (use.plugin == "nan_tensor") policies.push_back(use);
  EXPECT_EQ(policies, (std::vector<PluginUse>{own}));
  // And the message is true: the run stops as if it had finished.
  MonitoredSession& s = open(watching({{"fail_on_nan_loss", false}}));
  s.scope([&] {
    set_weight(kNan);
    while (!s.should_stop()) run();
  });
  EXPECT_TRUE(called("other.end"));
  EXPECT_THAT(s.end_reason().text, HasSubstr("nan_tensor: NaN loss: 'loss' is nan at step 1"));
}

}  // namespace
}  // namespace belay::runtime::testing
