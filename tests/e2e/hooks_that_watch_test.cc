// SPDX-License-Identifier: Apache-2.0
// Hooks that measure and write down: what they leave in a run, over a resume, and that the weights stay what they were.
#include <cmath>
#include <cstdlib>

#include "tests/e2e/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class HooksThatWatch : public HooksOfRun {
 protected:
  // A value of metrics.prom; empty if it does not exist.
  std::string shown_number(const std::string& metric) const {
    const std::string file = contents(run_dir() + "/metrics.prom"), label = "{run=\"" + run_dir() + "\"} ";
    const std::size_t at = file.find("\n" + metric + label);
    if (at == file.npos) return "";
    const std::size_t begin = file.find("} ", at) + 2;
    return file.substr(begin, file.find('\n', begin) - begin);
  }
  // "eval/loss" of that step in metrics.jsonl; none: NaN.
  double evaluated_loss(int step) const {
    double loss = std::nan("");
    std::istringstream lines(contents(run_dir() + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("{\"step\":" + std::to_string(step) + ",") && line.find("\"eval/loss\":") != line.npos)
        loss = nlohmann::json::parse(line).at("eval/loss").get<double>();
    return loss;
  }
};

TEST_F(HooksThatWatch, LrMonitorWritesWhatTheScheduleCameTo) {
  const std::string decaying =
      hook("lr_monitor", "every_n_steps = 20") +
      "[optimizer.learning_rate]\nschedule = \"exponential_decay\"\nlearning_rate = 0.01\ndecay_steps = 20\n"
      "decay_rate = 0.5\n";
  const std::string manifest = temp / "train.toml";
  write_file(manifest,
             "[run]\ndir = \"run\"\nmax_steps = 50\nthreads = 1\n[session]\nsave_summaries_steps = 0\n"
             "[input.train]\nplugin = \"numbers\"\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\n" +
                 decaying);
  ASSERT_EQ(belay({"run", manifest, "--set", "run.max_steps=30"}).status, 0);
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const Points rates = points("learning_rate");
  ASSERT_THAT(steps(rates), ElementsAre(1, 21, 41));
  for (const auto& [step, rate] : rates) EXPECT_NEAR(rate, 0.01 * std::pow(0.5, (step - 1) / 20.0), 1e-6) << step;
}

// Gradient descent adds the gradient times the rate, here 0.01.
TEST_F(HooksThatWatch, NormsOfGradientWeightAndUpdateBelongTogether) {
  const std::string norms = hook("gradient_norms", "every_n_steps = 10\nweights = true\nupdates = true");
  expect_same_weights(norms);
  const Points gradient = points("gradient_norm"), update = points("update_norm"), weight = points("weight_norm");
  ASSERT_THAT(steps(gradient), ElementsAre(1, 11, 21, 31, 41));
  ASSERT_EQ(steps(update), steps(gradient));
  ASSERT_EQ(steps(weight), steps(gradient));
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(update[i].second, 0.01 * gradient[i].second, 1e-5);
  EXPECT_EQ(weight[0].second, 0);  // the model begins with zeros
  EXPECT_GT(weight[4].second, 1);
  EXPECT_THAT(points("update_norm/linear/kernel"), SizeIs(5));
}

TEST_F(HooksThatWatch, SystemMetricsWritesMemoryAndDisk) {
  expect_same_weights(hook("system_metrics", "every_n_steps = 25"));
  for (const char* tag : {"system/cpus_busy", "system/rss_mb", "system/threads", "system/disk_free_gb"})
    EXPECT_THAT(steps(points(tag)), ElementsAre(1, 26)) << tag;
  EXPECT_GT(points("system/rss_mb").at(0).second, 1);
}

// BELAY_MEMORY_STEPS: of the run; 400,000 in the long test. Records of events that wait for the disk have up to 16 MiB.
TEST_F(HooksThatWatch, T_172_MemoryDoesNotGrowWithTheSteps) {
  const char* given = std::getenv("BELAY_MEMORY_STEPS");
  const int all = given == nullptr ? 20'000 : std::atoi(given), quarter = all / 4;
  std::string tables = hook("system_metrics", "every_n_steps = " + std::to_string(quarter));
  for (const char* each : {"input_wait", "gradient_norms", "lr_monitor"}) tables += hook(each, "every_n_steps = 1");
  for (const char* name : {"nan_guard", "weight_averaging", "spike_detection"}) tables += hook(name);
  tables += hook("history", "tensors = [\"loss\"]\ncapacity = 1000") + hook("running_average", "tensors = [\"loss\"]");
  tables += hook("csv_logger", "tensors = [\"loss\"]") + hook("state_digest", "output_file = \"digests.jsonl\"");
  tables += "[checkpoint]\nsave_steps = " + std::to_string(quarter) + "\n";
  ASSERT_EQ(run(tables, all + 1).status, 0);
  const Points memory = points("system/rss_mb");
  ASSERT_THAT(memory, SizeIs(5));
  EXPECT_LT(memory.back().second, memory[1].second + 18) << "from step " << memory[1].first << " on";
}

TEST_F(HooksThatWatch, InputWaitFindsASlowInput) {
  const std::string input = "delay_secs = 0.05\n";
  const ProcessResult r = run(hook("input_wait", "every_n_steps = 5\nwarn_share = 0.0"), 30, input);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("a step waits for the input in "));
  EXPECT_THAT(r.err, ContainsRegex("waited for the input in [0-9.]+ % of the time of 5 measured steps"));
  const Points share = points("input_wait/share");
  ASSERT_THAT(steps(share), ElementsAre(6, 11, 16, 21, 26));
  // Not in each of them: while a busy machine holds up a step the input gets ahead.
  EXPECT_TRUE(std::any_of(share.begin(), share.end(), [](const auto& point) { return point.second > 0.5; }));
}

TEST_F(HooksThatWatch, InputWaitChangesNoBit) { expect_same_weights(hook("input_wait", "every_n_steps = 5")); }

TEST_F(HooksThatWatch, HistoryHasTheWholeTrainingOverAResume) {
  const std::string history = hook("history", "tensors = [\"loss\"]\nevery_n_steps = 4");
  ASSERT_EQ(run(history, 18).status, 0);
  ASSERT_EQ(run(history, 30).status, 0);
  const auto resumed = nlohmann::json::parse(contents(run_dir() + "/history.json"));
  EXPECT_EQ(resumed.at("global_step"), nlohmann::json::parse("[1, 5, 9, 13, 17, 21, 25, 29]"));
  expect_same_weights(history);
  trained(history, 30);
  EXPECT_EQ(nlohmann::json::parse(contents(run_dir() + "/history.json")), resumed);
}

TEST_F(HooksThatWatch, HistoryIsThereWhenTheRunFails) {
  const ProcessResult r = run(hook("history", "tensors = [\"loss\"]"), 50, "nan_at_batch = 9\n");
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(nlohmann::json::parse(contents(run_dir() + "/history.json")).at("loss"), SizeIs(Ge(9u)));
}

// Runs so far are counted over both attempts: the first run, and each tenth one after it.
TEST_F(HooksThatWatch, LoggingTensorPrintsEveryNthRunOfEachAttempt) {
  const std::string printing = hook("logging_tensor", "tensors = [\"loss\"]\nevery_n_iter = 10");
  const auto lines = [&](int steps) {
    const ProcessResult r = run(printing, steps);
    EXPECT_EQ(r.status, 0) << r.err;
    return lines_with(r.err, "info logging_tensor: loss = ");
  };
  EXPECT_THAT(lines(18), SizeIs(2));
  EXPECT_THAT(lines(50), SizeIs(3));
  expect_same_weights(printing);
}

TEST_F(HooksThatWatch, PrometheusHasTheLastNumbersOfEachAttempt) {
  const std::string prometheus = hook("prometheus");
  expect_same_weights(prometheus);
  std::filesystem::remove_all(run_dir());
  const std::string label = "{run=\"" + run_dir() + "\"} ";
  for (const auto& [attempt, steps] : {std::pair("1", 30), std::pair("2", 50)}) {
    ASSERT_EQ(run(prometheus, steps).status, 0);
    const std::string file = contents(run_dir() + "/metrics.prom");
    EXPECT_THAT(file, HasSubstr("\nbelay_attempt" + label + attempt + "\n"));
    EXPECT_THAT(file, HasSubstr("belay_global_step" + label + std::to_string(steps) + "\n"));
    for (const char* name : {"loss", "mean_absolute_error", "learning_rate"})
      EXPECT_THAT(file, HasSubstr("\nbelay_" + std::string(name) + label));
  }
  EXPECT_FALSE(std::filesystem::exists(run_dir() + "/metrics.prom.part"));
}

TEST_F(HooksThatWatch, T_111_PrometheusEndsWithTheLastStepAndTheLastEvaluation) {
  ASSERT_EQ(run(hook("prometheus", "every_secs = 1000.0") +
                    "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n[eval]\nevery_steps = 10\n",
                30)
                .status,
            0);
  EXPECT_EQ(shown_number("belay_global_step"), "30");
  EXPECT_EQ(shown_number("belay_eval_global_step"), "30");
  EXPECT_EQ(shown_number("belay_last_checkpoint_step"), "30");
  EXPECT_EQ(shown_number("belay_finished"), "1");
  ASSERT_NE(shown_number("belay_eval_loss"), "");
  EXPECT_NEAR(std::stod(shown_number("belay_eval_loss")), evaluated_loss(30), 1e-6);
}

// Also if the schedule has no evaluation at the last step, or there is no schedule.
TEST_F(HooksThatWatch, T_111_PrometheusHasTheEvaluationThatComesAfterTheLastStep) {
  for (const char* settings : {"[eval]\nevery_steps = 7\n", "", "[checkpoint]\nkeep_best = 1\n"}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = run(hook("prometheus", "every_secs = 1000.0") +
                                    "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n" + settings,
                                30);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(shown_number("belay_global_step"), "30") << settings;
    EXPECT_EQ(shown_number("belay_eval_global_step"), "30") << settings;
    EXPECT_EQ(shown_number("belay_last_checkpoint_step"), "30") << settings;
    EXPECT_EQ(shown_number("belay_finished"), "1") << settings;
    ASSERT_NE(shown_number("belay_eval_loss"), "") << settings;
    EXPECT_NEAR(std::stod(shown_number("belay_eval_loss")), evaluated_loss(30), 1e-6) << settings;
  }
}

TEST_F(HooksThatWatch, ModelSummaryListsTheModel) {
  expect_same_weights(hook("model_summary"));
  EXPECT_THAT(contents(run_dir() + "/model_summary.txt"),
              ContainsRegex("linear/kernel +\\[4, 1\\] +float32 +4\n(.*\n)*5 trainable parameters"));
}

TEST_F(HooksThatWatch, ProfilerShowsThePhasesOfAStep) {
  trained(hook("profiler", "save_steps = 20"));
  const auto trace = nlohmann::json::parse(contents(run_dir() + "/timeline-40.json"));
  std::vector<std::string> phases;
  double between = -1;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("cat") != "phase") continue;
    phases.push_back(event.at("name"));
    EXPECT_GE(event.at("dur").get<double>(), 0) << event;
    EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    if (phases.back().rfind("between the steps", 0) == 0) between = event.at("dur");
  }
  EXPECT_THAT(phases, ::testing::IsSupersetOf(
                          {"before the run: hooks", "the run", "after the run: hooks", "waiting for the input"}));
  EXPECT_GT(between, 0);
}

TEST_F(HooksThatWatch, ATraceHasWaitsEvaluationsAndSavesBesideTheOperations) {
  const std::string evaluates =
      "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n[eval]\nevery_steps = 10\n"
      "[checkpoint]\nsave_steps = 10\n";
  const ProcessResult r = belay({"run", regression("delay_secs = 0.005\n", evaluates, 20), "--trace"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::vector<std::string> categories, activities;
  for (const auto& event : nlohmann::json::parse(contents(run_dir() + "/trace.json"))) {
    if (event.at("ph") != "X") continue;
    categories.push_back(event.at("cat"));
    if (categories.back() == "activity") activities.push_back(event.at("name"));
  }
  EXPECT_THAT(categories, ::testing::IsSupersetOf({"op", "hook", "run", "step", "activity"}));
  EXPECT_THAT(activities, ::testing::IsSupersetOf({"waiting for the input", "evaluation", "saving"}));
}

// A run of 30 steps that is stopped at 18 must leave what one without a stop leaves.
TEST_F(HooksThatWatch, RunningAverageGoesOnOverAResume) {
  const std::string average = hook("running_average", "tensors = [\"loss\"]\nalpha = 0.9\nevery_n_steps = 5");
  ASSERT_EQ(run(average, 18).status, 0);
  ASSERT_EQ(run(average, 30).status, 0);
  const Points resumed = points("running_average/loss");
  ASSERT_THAT(steps(resumed), ElementsAre(1, 6, 11, 16, 21, 26));
  trained(average, 30);
  EXPECT_EQ(points("running_average/loss"), resumed);
  expect_same_weights(average);
}

// Checkpoints of steps 18 and 30 hold the digests of their variables, too.
TEST_F(HooksThatWatch, StateDigestIsThatOfTheCheckpointsAndTheSameOverAResume) {
  using Digests = std::vector<std::pair<int, std::string>>;
  const std::string every = hook("state_digest", "every_n_steps = 1\noutput_file = \"digests.jsonl\"");
  const auto digests = [&] {
    Digests found;
    std::istringstream lines(contents(run_dir() + "/digests.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto fields = nlohmann::json::parse(line);
      EXPECT_EQ(fields.at("event"), "state_digest");
      found.emplace_back(fields.at("step"), fields.at("state_digest"));
    }
    return found;
  };
  const auto kept = [&](int step) {
    return nlohmann::json::parse(contents(run_dir() + "/model.ckpt-" + std::to_string(step) + "/state"))
        .at("digest")
        .get<std::string>();
  };
  ASSERT_EQ(run(every, 18).status, 0);
  ASSERT_EQ(run(every, 30).status, 0);
  const Digests resumed = digests();
  ASSERT_THAT(resumed, SizeIs(30));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(resumed[static_cast<std::size_t>(i)].first, i + 1);
  EXPECT_EQ(kept(18), resumed[17].second);
  EXPECT_EQ(kept(30), resumed[29].second);
  trained(every, 30);
  EXPECT_EQ(digests(), resumed);
  expect_same_weights(every);
}

TEST_F(HooksThatWatch, HistogramsAreInTheEventFile) {
  const std::string histograms = hook("histograms", "every_n_steps = 20");
  expect_same_weights(histograms);
  for (const char* tag : {"weights/linear/kernel", "gradients/linear/bias"}) {
    const ProcessResult r = belay({"events", run_dir(), "--tag", tag, "--csv"});
    EXPECT_THAT(lines_with(r.out, "histogram"), SizeIs(3)) << tag << "\n" << r.out;
  }
}

// The values are of the weights that the step begins with; the model begins with zeros. Gradient descent adds the
// gradient times the rate, here 0.01.
TEST_F(HooksThatWatch, HistogramsCountTheWeightsAndTheGradientOfTheirStep) {
  trained(hook("histograms", "every_n_steps = 20") + "[checkpoint]\nsave_steps = 1\nsave_secs = 0\nmax_to_keep = 0\n");
  const auto shown = [&](const std::string& tag) {
    std::vector<std::string> texts;
    for (const auto& entry : nlohmann::json::parse(belay({"events", run_dir(), "--tag", tag, "--json"}).out))
      texts.push_back(entry.dump());
    return texts;
  };
  const std::vector<std::string> kernel = shown("weights/linear/kernel"), bias = shown("gradients/linear/bias");
  ASSERT_THAT(kernel, SizeIs(3));
  ASSERT_THAT(bias, SizeIs(3));
  const auto number = [](const std::string& text, const std::string& name) {
    const std::size_t at = text.find(name + " ");
    return at == text.npos ? std::nan("") : std::stod(text.substr(at + name.size() + 1));
  };
  for (const int i : {0, 1, 2}) {
    const int before = 20 * i;
    const std::vector<float> weights = tensor(before, "linear/kernel");
    ASSERT_THAT(weights, SizeIs(4));
    double sum = 0;
    for (const float w : weights) sum += w;
    EXPECT_EQ(number(kernel[i], "count"), 4) << kernel[i];
    EXPECT_NEAR(number(kernel[i], "mean") * 4, sum, 1e-4) << kernel[i];
    EXPECT_NEAR(number(kernel[i], "max"), *std::max_element(weights.begin(), weights.end()), 1e-4) << kernel[i];
    const double update = tensor(before + 1, "linear/bias").at(0) - tensor(before, "linear/bias").at(0);
    EXPECT_EQ(number(bias[i], "count"), 1) << bias[i];
    EXPECT_NEAR(number(bias[i], "mean"), -update / 0.01, 1e-3) << bias[i];
  }
}

TEST_F(HooksThatWatch, SampleDumpWritesImagesIntoTheEventFile) {
  const std::string manifest = temp / "train.toml";
  write_file(
      manifest,
      "[run]\ndir = \"run\"\nmax_steps = 21\n[input.train]\nplugin = \"digits\"\n[model]\nplugin = \"sequential\"\n"
      "layers = [{ type = \"reshape\", shape = [28, 28, 1] }, { type = \"flatten\" }, { type = \"dense\", units = "
      "10 }]\n" +
          hook("sample_dump", "images = [\"reshape_1\"]\nrows = 2\nevery_n_steps = 10"));
  for (const char* steps : {"15", "21"})
    ASSERT_EQ(belay({"run", manifest, "--set", "run.max_steps=" + std::string(steps)}).status, 0);
  std::vector<int> steps;
  const ProcessResult events = belay({"events", run_dir(), "--tag", "samples/", "--json"});
  for (const auto& entry : nlohmann::json::parse(events.out)) steps.push_back(entry.at("step"));
  EXPECT_THAT(steps, ElementsAre(1, 11, 21, 1, 11, 21)) << events.out;
  EXPECT_THAT(events.out, HasSubstr("28 x 28"));
}

// About half of the units of an MLP with relu are zero.
TEST_F(HooksThatWatch, ActivationStatsSeeTheZerosOfARelu) {
  const std::string manifest = temp / "train.toml";
  write_file(manifest,
             "[run]\ndir = \"run\"\nmax_steps = 20\n[input.train]\nplugin = \"digits\"\n"
             "[model]\nplugin = \"mlp\"\nhidden = [16]\n" +
                 hook("activation_stats", "every_n_steps = 10"));
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  const ProcessResult events = belay({"events", run_dir(), "--csv"});
  std::vector<double> zeros;
  for (const std::string& row : lines_with(events.out, "/zeros,scalar")) {
    const std::size_t last = row.rfind(',');
    const std::size_t before = row.rfind(',', last - 1);
    zeros.push_back(std::stod(row.substr(before + 1, last - before - 1)));
  }
  ASSERT_THAT(zeros, SizeIs(2)) << events.out;
  for (const double share : zeros) EXPECT_TRUE(share > 0.05 && share < 0.95) << share;
}

TEST_F(HooksThatWatch, SampleDumpHasEachRowOnceOverAResume) {
  const std::string dump =
      hook("sample_dump", "tensors = [\"loss\"]\nevery_n_steps = 4") + "[checkpoint]\nsave_steps = 10\nsave_secs = 0\n";
  const std::string whole = (trained(dump, 30), contents(run_dir() + "/samples.jsonl"));
  EXPECT_EQ(lines_with(whole, "\"global_step\":").size(), 8u) << whole;
  // As a kill after step 20 leaves it: lines that the checkpoint does not count.
  ASSERT_EQ(belay({"run", regression("", dump, 20), "--from-scratch"}).status, 0);
  write_file(run_dir() + "/samples.jsonl",
             contents(run_dir() + "/samples.jsonl") + "{\"global_step\":21,\"row\":0,\"loss\":1}\n");
  ASSERT_EQ(run(dump, 30).status, 0);
  EXPECT_EQ(contents(run_dir() + "/samples.jsonl"), whole);
}

TEST_F(HooksThatWatch, EnvironmentSaysWhereEachAttemptWasStarted) {
  const std::string environment = hook("environment");
  ASSERT_EQ(run(environment, 10).status, 0);
  const ProcessResult second = run(environment, 20);
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("attempt 2, from step 10"));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const auto content =
        nlohmann::json::parse(contents(run_dir() + "/environment-" + std::to_string(attempt) + ".json"));
    EXPECT_EQ(content.at("attempt"), attempt);
    EXPECT_EQ(content.at("command_line").at(1), "run");
    EXPECT_TRUE(content.at("variables").contains("BELAY_PLUGIN_PATH"));
  }
  EXPECT_EQ(points("attempt"), (Points{{0, 1}, {10, 2}}));
  expect_same_weights(environment);
}

}  // namespace
}  // namespace belay::runtime::testing
