// SPDX-License-Identifier: Apache-2.0
// Hooks of a run that is ended in the middle of their period and continues: they leave what they leave in one that
// never stopped.
#include <csignal>
#include <filesystem>

#include "tests/e2e/hooks_fixture.h"
#include "tests/e2e/left_by_hooks.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class HooksResumed : public HooksOfRun {
 protected:
  static constexpr int kStop = 18, kEnd = 30;

  // Two attempts, the second one from kStop on.
  ProcessResult resumed(const std::string& tables, const std::string& input = "") {
    EXPECT_EQ(run(tables, kStop, input).status, 0);
    ProcessResult second = run(tables, kEnd, input);
    EXPECT_THAT(told(second), HasSubstr("attempt 2: continues from model.ckpt-18, "));
    return second;
  }
  // The curves of a resumed run are those of a whole one; these are their steps.
  void expect_same_curves(const std::string& tables, const std::vector<std::string>& tags,
                          const std::vector<int>& expected_steps) {
    EXPECT_EQ(resumed(tables).status, 0);
    std::vector<Points> curves;
    for (const std::string& tag : tags) curves.push_back(points(tag));
    trained(tables, kEnd);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      EXPECT_EQ(steps(curves[i]), expected_steps) << tags[i];
      EXPECT_EQ(curves[i], points(tags[i])) << tags[i];
    }
  }
  // The steps of all entries of a tag that are no numbers.
  std::vector<int> entries(const std::string& tag) const {
    const auto list = nlohmann::json::parse(belay({"events", run_dir(), "--tag", tag + "$", "--json"}).out);
    std::vector<int> steps;
    for (const auto& entry : list) steps.push_back(entry.at("step"));
    return steps;
  }
};

TEST_F(HooksResumed, NormsAreThoseOfARunThatNeverStopped) {
  expect_same_curves(hook("gradient_norms", "every_n_steps = 4\nweights = true\nupdates = true"),
                     {"gradient_norm", "gradient_norm/linear/kernel", "weight_norm", "update_norm"},
                     {1, 5, 9, 13, 17, 21, 25, 29});
}

TEST_F(HooksResumed, ActivationsAreThoseOfARunThatNeverStopped) {
  expect_same_curves(hook("activation_stats", "tensors = [\"value\"]\nevery_n_steps = 4"),
                     {"activation/linear/BiasAdd/mean", "activation/linear/BiasAdd/deviation"},
                     {1, 5, 9, 13, 17, 21, 25, 29});
}

TEST_F(HooksResumed, HistogramsAreOfTheSameSteps) {
  ASSERT_EQ(resumed(hook("histograms", "every_n_steps = 7")).status, 0);
  for (const char* tag : {"weights/linear/kernel", "gradients/linear/bias"})
    EXPECT_THAT(entries(tag), ElementsAre(1, 8, 15, 22, 29)) << tag;
}

TEST_F(HooksResumed, TheMachineIsLookedAtInTheSameSteps) {
  ASSERT_EQ(resumed(hook("system_metrics", "every_n_steps = 7")).status, 0);
  EXPECT_THAT(steps(points("system/rss_mb")), ElementsAre(1, 8, 15, 22, 29));
}

// A session's first step is none that is measured, and step 19 is no first of a period.
TEST_F(HooksResumed, WaitsForTheInputAreAddedUpOverBothAttempts) {
  const ProcessResult second = resumed(hook("input_wait", "every_n_steps = 5"));
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(steps(points("input_wait/share")), ElementsAre(6, 11, 16, 21, 26));
  EXPECT_THAT(second.err, ContainsRegex("waited for the input in [0-9.e-]+ % of the time of 5 measured steps"));
}

TEST_F(HooksResumed, ATableIsThatOfARunThatNeverStopped) {
  const std::string table = hook("csv_logger", "tensors = [\"loss\"]\nevery_n_steps = 4");
  ASSERT_EQ(resumed(table).status, 0);
  const std::string rows = contents(run_dir() + "/metrics.csv");
  EXPECT_EQ(lines_with(rows, ",").size(), 9u) << rows;
  trained(table, kEnd);
  EXPECT_EQ(contents(run_dir() + "/metrics.csv"), rows);
}

// Nothing is an improvement. Patience that began anew at step 19 would not be over by the end.
TEST_F(HooksResumed, PatienceCountsOn) {
  const std::string waits = "patience = 20\nmin_delta = 1e6\nevery_n_steps = 1\n";
  const ProcessResult stopped = resumed(hook("early_stopping", waits));
  EXPECT_EQ(stopped.status, 0);
  EXPECT_THAT(lines_with(stopped.err, "info ended at step 21 "), SizeIs(1)) << stopped.err;
  std::filesystem::remove_all(run_dir());

  ASSERT_EQ(resumed(hook("reduce_lr_on_plateau", waits)).status, 0);
  const std::vector<float> scale = tensor(kEnd, "learning_rate_scale");
  EXPECT_THAT(scale, ElementsAre(0.1f));
  const std::string lowered = weights(run_dir(), kEnd);
  EXPECT_EQ(trained(hook("reduce_lr_on_plateau", waits), kEnd), lowered);
}

TEST_F(HooksResumed, TheProfilerTracesTheSameSteps) {
  ASSERT_EQ(resumed(hook("profiler", "save_steps = 12")).status, 0);
  EXPECT_THAT(listing(run_dir()), Contains("timeline-12.json"));
  EXPECT_THAT(listing(run_dir()), Contains("timeline-24.json"));
  EXPECT_THAT(listing(run_dir()), Not(Contains("timeline-30.json")));
}

// The profiler makes the file at step 24; the stop file is looked for at each tenth run of an attempt, so at step 28.
TEST_F(HooksResumed, AStopFileThatComesInsideAPeriodIsFoundAtItsEnd) {
  const std::string tables =
      hook("profiler", "save_steps = 12") + hook("stop_file", "file_name = \"timeline-24.json\"\nevery_n_steps = 10");
  const ProcessResult r = resumed(tables);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(r.err, "info ended at step 28 "), SizeIs(1)) << r.err;
  EXPECT_THAT(listing(run_dir()), Not(Contains("timeline-24.json")));
  EXPECT_THAT(listing(run_dir()), Contains("timeline-12.json"));
}

TEST_F(HooksResumed, ATraceIsOfTheStepsOfItsAttempt) {
  ASSERT_EQ(belay({"run", regression("", "", kStop), "--trace"}).status, 0);
  ASSERT_EQ(belay({"run", regression("", "", kEnd), "--trace"}).status, 0);
  std::vector<std::string> names;
  for (const auto& event : nlohmann::json::parse(contents(run_dir() + "/trace.json")))
    if (event.at("ph") == "X") names.push_back(event.at("name"));
  for (const char* name : {"step 19", "step 30"}) EXPECT_THAT(names, Contains(name));
  for (const char* name : {"step 1", "step 18"}) EXPECT_THAT(names, Not(Contains(name)));
}

// Between the stop and the schedule's last step the variable is what the other hook has made of it.
TEST_F(HooksResumed, T_158_TwoHooksThatSetOneVariableComeToTheSameBits) {
  const std::string tables =
      hook("parameter_schedule", "variable = \"learning_rate_scale\"\nsteps = [0, 5]\nvalues = [1.0, 0.9]") +
      hook("reduce_lr_on_plateau", "patience = 12\nmin_delta = 1e6\nevery_n_steps = 1\nfactor = 0.5");
  ASSERT_EQ(resumed(tables).status, 0);
  const std::string stopped = weights(run_dir(), kEnd);
  const std::vector<float> scale = tensor(kEnd, "learning_rate_scale");
  EXPECT_EQ(trained(tables, kEnd), stopped);
  EXPECT_EQ(tensor(kEnd, "learning_rate_scale"), scale);
  EXPECT_LT(scale.at(0), 0.5f);
}

TEST_F(HooksResumed, T_155_FilesOfHooksAreThoseOfARunWithoutARecovery) {
  const std::string each = "tensors = [\"loss\"]\nevery_n_steps = 1\n";
  const std::string tables = hook("csv_logger", each) + hook("sample_dump", each) + hook("history", each) +
                             hook("spike_detection", "window = 5\ndeviations = 1\n") + hook("running_average", each) +
                             "[checkpoint]\nsave_steps = 5\nsave_secs = 0\n";
  const char* files[] = {"metrics.csv", "samples.jsonl", "history.json", "spikes.json"};
  trained(tables, kEnd);
  std::vector<std::string> expected;
  for (const char* file : files) expected.push_back(contents(run_dir() + "/" + file));
  const Points averages = points("running_average/loss");
  const std::string marker = temp / "failed";
  trained(tables, kEnd, "fail_at_batch = 12\nonce = \"" + marker + "\"\n");
  EXPECT_TRUE(std::filesystem::exists(marker)) << "there was no recovery";
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(contents(run_dir() + "/" + files[i]), expected[i]);
  EXPECT_EQ(points("running_average/loss"), averages);
}

// In place, in the next process, and in the next one after a kill.
TEST_F(HooksResumed, T_155_WhatHooksKeepIsThatOfAnUndisturbedRunHoweverItWasDisturbed) {
  const std::string tables = hooks_that_keep() + "[checkpoint]\nsave_steps = 5\nsave_secs = 0\n";
  trained(tables, kEnd);
  const std::map<std::string, std::string> expected = left_by_hooks(run_dir(), kEnd);
  for (const char* what : {"metrics.csv", "samples.jsonl", "history.json", "spikes.json", "digests.jsonl",
                           "metrics.prom", "the variables", "state of early_stopping", "state of csv_logger",
                           "state of reduce_lr_on_plateau", "state of step_counter", "state of summary_saver"})
    EXPECT_NE(expected.find(what), expected.end()) << what;
  const auto expect_same = [&](const char* disturbed) {
    const std::map<std::string, std::string> left = left_by_hooks(run_dir(), kEnd);
    EXPECT_EQ(left.size(), expected.size()) << disturbed;
    for (const auto& [what, text] : expected)
      EXPECT_TRUE(left.contains(what) && left.at(what) == text)
          << disturbed << ": " << what
          << (what == "the variables" ? "" : "\n" + (left.contains(what) ? left.at(what) : "") + "instead of\n" + text);
  };
  const std::string marker = temp / "failed";
  trained(tables, kEnd, "fail_at_batch = 12\nonce = \"" + marker + "\"\n");
  EXPECT_TRUE(std::filesystem::exists(marker)) << "there was no recovery";
  expect_same("a recovery");
  std::filesystem::remove_all(run_dir());
  ASSERT_EQ(resumed(tables).status, 0);
  expect_same("a second start");
  std::filesystem::remove_all(run_dir());
  BelayProcess killed({"run", regression("hang_at_batch = 22\n", tables, kEnd)});
  ASSERT_TRUE(killed.wait_until([&] { return lines_with(contents(run_dir() + "/metrics.csv"), ",").size() == 23; }));
  killed.kill(SIGKILL);
  ASSERT_EQ(killed.wait().signal, SIGKILL);
  ASSERT_EQ(run(tables, kEnd).status, 0);
  expect_same("a kill");
}

// One that comes later is to be put into one of the two lists.
TEST_F(HooksResumed, T_155_EachFirstPartyHookIsAmongThoseThatAreTried) {
  const std::string tried = hooks_that_keep();
  const std::set<std::string> others = other_hooks();
  const auto found = nlohmann::json::parse(belay({"plugins", "--json"}).out);
  int hooks = 0;
  for (const auto& plugin : found.at("plugins")) {
    const std::string file = plugin.at("file"), name = plugin.at("name");
    if (plugin.at("kind") != "hook" || file.find("/tests/") != file.npos) continue;
    ++hooks;
    EXPECT_NE(tried.find("plugin = \"" + name + "\"") != tried.npos, others.contains(name)) << name;
  }
  EXPECT_GT(hooks, 30);
}

// A recovery goes back to the last checkpoint, the count does not.
TEST_F(HooksResumed, RecoveriesAreCountedOverBothAttempts) {
  const std::string environment = hook("environment") + "[checkpoint]\nsave_steps = 5\nsave_secs = 0\n";
  const std::string fails = "fail_at_batch = 12\nonce = \"" + (temp / "failed") + "\"\n";
  const ProcessResult second = resumed(environment, fails);
  EXPECT_THAT(second.err, HasSubstr("attempt 2, from step 18, after 1 recoveries inside the attempts before"));
  const Points recoveries = points("recoveries");
  ASSERT_THAT(recoveries, SizeIs(1));
  EXPECT_EQ(recoveries[0].second, 1);
  EXPECT_EQ(recoveries[0].first % 5, 0) << "the step of a checkpoint";
}

// Evaluations of the second attempt are of the averages again, not of the weights that the first one left in their
// place.
TEST_F(HooksResumed, TheAveragesAreEvaluatedAsInARunThatNeverStopped) {
  const std::string tables =
      hook("weight_averaging") + "[input.eval]\nplugin = \"numbers\"\nepochs = 1\n[eval]\nevery_steps = 8\n";
  const auto evaluations = [&] {
    std::vector<std::pair<int, double>> found;
    for (const std::string& line : lines_with(contents(run_dir() + "/metrics.jsonl"), "\"evaluation\"")) {
      const auto fields = nlohmann::json::parse(line);
      if (fields.at("step") != kStop) found.emplace_back(fields.at("step"), fields.at("eval/loss"));
    }
    return found;
  };
  ASSERT_EQ(resumed(tables).status, 0);
  const auto both = evaluations();
  trained(tables, kEnd);
  EXPECT_EQ(both, evaluations());
  std::vector<int> steps;
  for (const auto& [step, loss] : both) steps.push_back(step);
  EXPECT_THAT(steps, ElementsAre(8, 16, 24, 30));
  // The weights themselves are elsewhere.
  trained(hook("weight_averaging", "evaluate = false") + tables.substr(tables.find("[input.eval]")), kEnd);
  const auto plain = evaluations();
  ASSERT_EQ(plain.size(), both.size());
  EXPECT_NE(plain[2].second, both[2].second);
}

// The classes overlap, so that the best threshold moves. A kill in step 22 comes after the step that has set it.
TEST_F(HooksResumed, ATunedThresholdIsThatOfARunThatNeverStopped) {
  std::string train = "x,y\n", held_out = "x,y\n";
  for (int i = 0; i < 60; ++i) {
    const std::string row =
        std::to_string(i * 37 % 60 / 30.0 - 1) + (i * 37 % 60 + i % 4 * 15 > 65 ? ",yes\n" : ",no\n");
    (i % 3 == 0 ? held_out : train) += row;
  }
  write_file(temp / "train.csv", train);
  write_file(temp / "eval.csv", held_out);
  const auto tuned = [&](int max_steps, int dies_at) {
    const std::string path = temp / "tuned.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = " + std::to_string(max_steps) +
                   "\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = \"train.csv\"\nlabel = \"y\"\n"
                   "batch_size = 8\n[input.eval]\nplugin = \"csv\"\npath = \"eval.csv\"\nlabel = \"y\"\nepochs = 1\n"
                   "[eval]\nevery_steps = 5\n[model]\nplugin = \"linear\"\nloss = \"binary\"\n"
                   "tune_threshold = \"f1\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.3\n"
                   "[checkpoint]\nsave_steps = 10\nsave_secs = 0\n" +
                   hook("trouble", "dies_in = \"after_run\"\ndies_at = " + std::to_string(dies_at)));
    return belay({"run", path});
  };
  constexpr int kNever = 1000;
  const ProcessResult whole = tuned(kEnd, kNever);
  ASSERT_EQ(whole.status, 0) << whole.err;
  const std::string expected = weights(run_dir(), kEnd);
  EXPECT_NE(tensor(kEnd, "threshold"), tensor(10, "threshold"));
  EXPECT_NE(tensor(kEnd, "threshold"), std::vector<float>{0.5f});

  std::filesystem::remove_all(run_dir());
  ASSERT_EQ(tuned(kStop, kNever).status, 0);
  ASSERT_EQ(tuned(kEnd, kNever).status, 0);
  EXPECT_EQ(weights(run_dir(), kEnd), expected) << "after a stop";

  std::filesystem::remove_all(run_dir());
  ASSERT_EQ(tuned(kEnd, 22).signal, SIGKILL);
  const ProcessResult second = tuned(kEnd, kNever);
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(told(second), HasSubstr("attempt 2: continues from model.ckpt-"));
  EXPECT_EQ(weights(run_dir(), kEnd), expected) << "after a kill";
}

TEST_F(HooksResumed, TheModelIsListedByEachAttempt) {
  ASSERT_EQ(run(hook("model_summary"), kStop).status, 0);
  const std::string first = contents(run_dir() + "/model_summary.txt");
  ASSERT_NE(first, "");
  std::filesystem::remove(run_dir() + "/model_summary.txt");
  ASSERT_EQ(run(hook("model_summary"), kEnd).status, 0);
  EXPECT_EQ(contents(run_dir() + "/model_summary.txt"), first);
}

// The rate is a thousand times higher from step 24 on. A window of twenty values that began anew at step 19 would not
// be full by then.
TEST_F(HooksResumed, ASpikeIsOneAgainstValuesFromBeforeTheResume) {
  const std::string jumps =
      hook("spike_detection", "window = 20\ndeviations = 3.0\naction = \"fail\"") +
      hook("parameter_schedule", "variable = \"learning_rate_scale\"\nsteps = [0, 24]\nvalues = [1.0, 1000.0]");
  EXPECT_EQ(resumed(jumps).status, 4);
  const std::string spikes = contents(run_dir() + "/spikes.json");
  const auto list = nlohmann::json::parse(spikes);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_LT(list[0].at("global_step"), kEnd);
  std::filesystem::remove_all(run_dir());
  EXPECT_EQ(run(jumps, kEnd).status, 4);
  EXPECT_EQ(contents(run_dir() + "/spikes.json"), spikes);
}

// The input counts its batches from the start of a process: the sixth one is that of step 24.
TEST_F(HooksResumed, NanGuardFailsBeforeTheGradientIsAppliedAndNamesTheCheckpointOfTheAttemptBefore) {
  ASSERT_EQ(run(hook("nan_guard"), kStop).status, 0);
  const ProcessResult r = run(hook("nan_guard"), kEnd, "nan_at_batch = 5\n");
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the gradient of 'linear/kernel', before it was applied: the tensor has NaN"));
  EXPECT_THAT(told(r), HasSubstr("the last checkpoint that is finite is 'DIR/run/model.ckpt-18'"));
}

// Each prediction of a training comes once: those after the last checkpoint are cut off and made again.
TEST_F(HooksResumed, PredictionsOfEachBatchAreThereOnce) {
  const std::string writer =
      hook("sample_dump", "tensors = [\"value\"]\nrows = 0\nevery_n_steps = 1\noutput_file = \"all.jsonl\"") +
      "[checkpoint]\nsave_steps = 10\nsave_secs = 0\n";
  BelayProcess killed({"run", regression("hang_at_batch = 25\n", writer, kEnd)});
  const auto lines = [&] { return lines_with(contents(run_dir() + "/all.jsonl"), "\"row\":15").size(); };
  ASSERT_TRUE(killed.wait_until([&] { return lines() == 25; }));
  killed.kill(SIGKILL);
  ASSERT_EQ(killed.wait().signal, SIGKILL);
  ASSERT_EQ(run(writer, kEnd).status, 0);
  const std::string resumed = contents(run_dir() + "/all.jsonl");
  EXPECT_EQ(lines_with(resumed, "\"row\":").size(), 30u * 16);
  trained(writer, kEnd);
  EXPECT_EQ(contents(run_dir() + "/all.jsonl"), resumed);
}

}  // namespace
}  // namespace belay::runtime::testing
