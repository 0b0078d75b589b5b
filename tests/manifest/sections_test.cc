// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

// The struct of a manifest with these lines; they hold no mistake.
Manifest manifest_of(const std::string& text) {
  const Parsed result = parsed(text + kRest, {}, "/m/train.toml");
  EXPECT_EQ(result.errors, "");
  return result.manifest.value();
}

TEST(Sections, WithoutKeysTheDefaultsHold) {
  const Manifest m = manifest_of("");
  EXPECT_EQ(m.run, RunSettings{});
  EXPECT_EQ(m.plugins, PluginsSection{});
  EXPECT_EQ(m.optimizer, OptimizerSettings{});
  EXPECT_EQ(m.checkpoint, CheckpointSettings{});
  EXPECT_EQ(m.eval, EvalSettings{});
  EXPECT_EQ(m.session, SessionSettings{});
}

TEST(Sections, RunHasItsKeys) {
  const RunSettings run =
      manifest_of("[run]\nmode = 'train'\ndir = 'x'\nmax_steps = 1\nseed = 9223372036854775807\nthreads = 1024").run;
  EXPECT_EQ(run.mode, RunMode::kTrain);
  EXPECT_EQ(run.dir, "/m/x");
  EXPECT_EQ(run.max_steps, 1);
  EXPECT_EQ(run.seed, 9223372036854775807u);
  EXPECT_EQ(run.threads, 1024);
}

TEST(Sections, MinStepsAreAtMostMaxSteps) {
  EXPECT_EQ(manifest_of("").run.min_steps, 0);
  EXPECT_EQ(manifest_of("[run]\nmin_steps = 5").run.min_steps, 5);
  EXPECT_EQ(manifest_of("[run]\nmin_steps = 5\nmax_steps = 5").run.min_steps, 5);
  EXPECT_EQ(errors_of("[run]\nmin_steps = 6\nmax_steps = 5"),
            "train.toml:2:13: error[B1032]: run.min_steps = 6 is above run.max_steps = 5\n  min_steps = 6\n"
            "              ^\n  help: lower it, or raise max_steps\n");
}

TEST(Sections, AModeThatUsesACheckpointNeedsAnInputOfItsOwn) {
  EXPECT_EQ(
      errors_of("[run]\nmode = 'evaluate'"),
      "train.toml: error[B1020]: [input.eval] is missing\n  help: add [input.eval] and plugin = \"NAME\" below\n");
  EXPECT_EQ(errors_of("[run]\nmode = 'predict'"),
            "train.toml: error[B1020]: [input.predict] is missing\n"
            "  help: add [input.predict] and plugin = \"NAME\" below\n");
  EXPECT_EQ(errors_of("[run]\nmode = 'predict'\n[input.eval_b]\nplugin = 'x'"), "");
}

TEST(Sections, TrainAndEvaluateNeedsAnEvaluationInputAndEvaluatesBehindEachCheckpoint) {
  const std::string mode = "[run]\nmode = 'train_and_evaluate'\n";
  EXPECT_EQ(
      errors_of(mode),
      "train.toml: error[B1020]: [input.eval] is missing\n  help: add [input.eval] and plugin = \"NAME\" below\n");
  const std::string input = "[input.eval]\nplugin = 'x'\n";
  EXPECT_TRUE(manifest_of(mode + input).eval.at_checkpoint);
  EXPECT_FALSE(manifest_of(mode + input + "[eval]\nevery_steps = 5").eval.at_checkpoint);
  EXPECT_FALSE(manifest_of(mode + input + "[eval]\nat_checkpoint = false").eval.at_checkpoint);
  EXPECT_FALSE(manifest_of(input).eval.at_checkpoint);
}

TEST(Sections, ContinuousEvalNeedsAnEvaluationInputAndARunDirectory) {
  EXPECT_EQ(
      errors_of("[run]\nmode = 'continuous_eval'\ndir = 'x'"),
      "train.toml: error[B1020]: [input.eval] is missing\n  help: add [input.eval] and plugin = \"NAME\" below\n");
  EXPECT_EQ(errors_of("[run]\nmode = 'continuous_eval'\n[input.eval]\nplugin = 'x'"),
            "train.toml:2:8: error[B1031]: run.mode = \"continuous_eval\" evaluates the checkpoints of a run "
            "directory, and there is none\n"
            "  mode = 'continuous_eval'\n         ^~~~~~~~~~~~~~~~~\n"
            "  help: set dir in [run] to the directory that the training has\n");
  EXPECT_EQ(manifest_of("[eval]\ntimeout_secs = 60").eval.timeout_secs, 60.0);
}

TEST(Sections, ExportersHaveKeysOfTheHostBesideTheirOwn) {
  const auto exporters = [](const std::string& keys) { return errors_of("[run]\ndir = 'r'\n[[exporters]]\n" + keys); };
  EXPECT_EQ(exporters("plugin = 'onnx'\nwhen = 'latest'\nkeep = 1\nsignature = 's'\nown = 3\n"), "");
  EXPECT_THAT(exporters("plugin = 'onnx'\nkeep = 0\n"), ::testing::HasSubstr("exporters.0.keep must be at least 1"));
  EXPECT_THAT(exporters("plugin = 'onnx'\nwhen = 'never'\n"),
              ::testing::HasSubstr("exporters.0.when must be one of final, latest, best"));
  EXPECT_THAT(exporters("plugin = 'onnx'\nwhen = 'best'\n"),
              ::testing::HasSubstr("evaluations decide about when = \"best\", and there is no input for them"));
  EXPECT_THAT(errors_of("[[exporters]]\nplugin = 'onnx'\n"),
              ::testing::HasSubstr("[[exporters]] write below the run directory, and there is none"));
}

TEST(Sections, ModeExportNeedsAnExporter) {
  EXPECT_THAT(errors_of("[run]\nmode = 'export'\ndir = 'r'\n"),
              ::testing::HasSubstr("run.mode = \"export\" needs an exporter"));
}

std::vector<std::string> keys_of(const std::vector<PluginOption>& options) {
  std::vector<std::string> keys;
  for (const PluginOption& option : options) keys.push_back(option.key);
  return keys;
}

TEST(Sections, OptimizerHasItsKeysAndThoseOfThePlugin) {
  const OptimizerSettings momentum =
      manifest_of(
          "[optimizer]\nname = 'momentum'\nlearning_rate = 1\nmomentum = 1\nuse_nesterov "
          "= true\nclip_norm = 5\nclip_value = 0.5")
          .optimizer;
  EXPECT_EQ(momentum.name, "momentum");
  EXPECT_EQ(momentum.learning_rate, LearningRate{.learning_rate = 1});
  EXPECT_EQ(momentum.clip_norm, 5);
  EXPECT_EQ(momentum.clip_value, 0.5);
  EXPECT_EQ(momentum.options, (std::vector<PluginOption>{{"momentum", std::int64_t{1}}, {"use_nesterov", true}}));
  const OptimizerSettings own = manifest_of("[optimizer]\nfile = 'lion.so'\nsign.of = ['x']").optimizer;
  EXPECT_EQ(own.name, "");
  EXPECT_EQ(own.file, "/m/lion.so");
  EXPECT_EQ(keys_of(own.options), std::vector<std::string>{"sign.of"});
}

TEST(Sections, TheOptimizerIsAPluginWithItsPlaces) {
  const Manifest m = manifest_of("[optimizer]\nname = 'adam'\nbeta1 = 0.5\nlearning_rate = { schedule = 'x', y = 1 }");
  const PluginUse optimizer = optimizer_use(m);
  EXPECT_EQ(optimizer.plugin, "adam");
  EXPECT_EQ(optimizer.plugin_at.line, 2);
  EXPECT_EQ(optimizer.options.at(0).key_at.line, 3);
  const auto schedule = schedule_use(m);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->plugin, "x");
  EXPECT_EQ(schedule->plugin_at.column, 30);
  EXPECT_EQ(schedule->options.at(0).key_at.column, 35);
  EXPECT_EQ(optimizer_use(manifest_of("")).plugin, "sgd");
  EXPECT_EQ(optimizer_use(manifest_of("[optimizer]\nfile = 'lion.so'")).plugin, "");
  EXPECT_FALSE(schedule_use(manifest_of("[optimizer]\nlearning_rate = 1")));
}

TEST(Sections, LearningRatesHaveSchedules) {
  const auto rate = [](const std::string& table) {
    return manifest_of("[optimizer]\nlearning_rate = {" + table + "}").optimizer.learning_rate;
  };
  EXPECT_EQ(rate("schedule = 'constant', learning_rate = 0.5"),
            (LearningRate{.schedule = "constant", .learning_rate = 0.5}));
  EXPECT_EQ(rate("schedule = 'constant', warmup_steps = 5"), (LearningRate{.schedule = "constant", .warmup_steps = 5}));
  EXPECT_EQ(rate("schedule = 'half_life', steps = 7, of = [1, 0.5]"),
            (LearningRate{.schedule = "half_life",
                          .options = {{"steps", std::int64_t{7}}, {"of", std::vector<double>{1, 0.5}}}}));
  EXPECT_EQ(rate("file = 'x.so'").file, "/m/x.so");
}

TEST(Sections, SchedulesAreCheckedAsAWhole) {
  const struct {
    std::string table, expected;
  } cases[] = {
      {"{ decay_steps = 5 }",
       "train.toml:2:17: error[B1033]: the table of a learning rate needs a schedule\n  learning_rate = { decay_steps "
       "= 5 }\n"
       "                  ^~~~~~~~~~~~~~~~~~~\n"
       "  help: write schedule = \"NAME\"; `belay plugins` lists the names\n"},
      {"{ schedule = 'cosine_decay', warmup_steps = -1 }",
       "train.toml:2:61: error[B1013]: optimizer.learning_rate.warmup_steps must be at least 0, found -1\n"
       "  learning_rate = { schedule = 'cosine_decay', warmup_steps = -1 }\n"
       "                                                              ^~\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(errors_of("[optimizer]\nlearning_rate = " + c.table), c.expected);
}

TEST(Sections, CheckpointHasItsKeys) {
  const CheckpointSettings checkpoint =
      manifest_of(
          "[checkpoint]\nsave_secs = 1.5\nsave_steps = 0\nsave = 'sync'\nmax_to_keep = "
          "0\non_save_error = 'stop'\nrefuse_non_finite = false\nbasename = 'mnist'\nkeep_every_hours = 1.5\n"
          "keep_every_steps = 7\nsave_failures = 1\nsave_on_exception = true")
          .checkpoint;
  EXPECT_EQ(checkpoint.save_secs, 1.5);
  EXPECT_EQ(checkpoint.save_steps, 0);
  EXPECT_EQ(checkpoint.save, SaveMode::kSync);
  EXPECT_EQ(CheckpointSettings().save, SaveMode::kAsync);
  EXPECT_EQ(checkpoint.max_to_keep, 0);
  EXPECT_EQ(checkpoint.on_save_error, OnSaveError::kStop);
  EXPECT_FALSE(checkpoint.refuse_non_finite);
  EXPECT_EQ(checkpoint.basename, "mnist");
  EXPECT_EQ(checkpoint.keep_every_hours, 1.5);
  EXPECT_EQ(checkpoint.keep_every_steps, 7);
  EXPECT_EQ(checkpoint.save_failures, 1);
  EXPECT_TRUE(checkpoint.save_on_exception);
  EXPECT_EQ(manifest_of("[checkpoint]\non_save_error = 'pause'").checkpoint.on_save_error, OnSaveError::kPause);
  EXPECT_EQ(errors_of("[checkpoint]\nbasename = 'a/b'"),
            "train.toml:2:12: error[B1034]: checkpoint.basename = \"a/b\" cannot be a checkpoint's name\n"
            "  basename = 'a/b'\n             ^~~~~\n"
            "  help: take one part of a path, of at most 200 bytes and other than \"before\"\n");
}

TEST(Sections, EvalHasItsKeys) {
  const EvalSettings eval = manifest_of(
                                "[eval]\nevery_steps = 1\nevery_secs = 2.5\nat_checkpoint = true\ninputs = "
                                "['eval_b', 'eval']\nbatches = 3\nstart_delay_secs = 4\nthrottle_secs = 5\nat_start "
                                "= false\non_error = 'continue'\n[input.eval]\nplugin = 'x'\n[input.eval_b]\nplugin "
                                "= 'x'\n")
                                .eval;
  EXPECT_EQ(eval.every_steps, 1);
  EXPECT_EQ(eval.every_secs, 2.5);
  EXPECT_TRUE(eval.at_checkpoint);
  EXPECT_EQ(eval.inputs, (std::vector<std::string>{"eval_b", "eval"}));
  EXPECT_EQ(eval.batches, 3);
  EXPECT_EQ(eval.start_delay_secs, 4);
  EXPECT_EQ(eval.throttle_secs, 5);
  EXPECT_FALSE(eval.at_start);
  EXPECT_EQ(eval.on_error, OnEvalError::kContinue);
}

TEST(Sections, AnEvaluationsInputsAreThoseOfItsNameOrTheGivenOnes) {
  const std::string inputs =
      "[input.eval]\nplugin = 'x'\n[input.eval_b]\nplugin = 'x'\n[input.predict]\nplugin = 'x'\n";
  EXPECT_EQ(eval_inputs(manifest_of(inputs)), (std::vector<std::string>{"eval", "eval_b"}));
  EXPECT_EQ(eval_inputs(manifest_of("[eval]\ninputs = ['eval_b']\n" + inputs)), std::vector<std::string>{"eval_b"});
  EXPECT_EQ(eval_inputs(manifest_of("")), std::vector<std::string>());
}

TEST(Sections, AnInputThatIsNoneOfAnEvaluationIsRefused) {
  const std::string eval = "[input.eval]\nplugin = 'x'\n";
  EXPECT_EQ(
      errors_of("[eval]\ninputs = ['eval', 'train']\n" + eval),
      "train.toml:2:19: error[B1030]: eval.inputs names 'train', which is no input of an evaluation in this manifest\n"
      "  inputs = ['eval', 'train']\n                    ^~~~~~~\n"
      "  help: those are [input.eval] and [input.eval_NAME]\n");
  EXPECT_EQ(
      errors_of("[eval]\ninputs = ['evla']\n" + eval),
      "train.toml:2:11: error[B1030]: eval.inputs names 'evla', which is no input of an evaluation in this manifest\n"
      "  inputs = ['evla']\n            ^~~~~~\n  help: did you mean \"eval\"?\n");
  EXPECT_EQ(errors_of("[eval]\ninputs = ['eval', 'eval']\n" + eval),
            "train.toml:2:19: error[B1025]: eval.inputs names 'eval' twice\n  inputs = ['eval', 'eval']\n              "
            "      ^~~~~~\n  help: name it once\n");
  EXPECT_EQ(errors_of("[eval]\ninputs = 'eval'\n" + eval),
            "train.toml:2:10: error[B1012]: eval.inputs must be a list of names, found the string \"eval\"\n"
            "  inputs = 'eval'\n           ^~~~~~\n  help: write it in brackets: inputs = [...]\n");
}

TEST(Sections, EvaluationsNeedAnInput) {
  EXPECT_EQ(errors_of("[eval]\nbatches = 3\nevery_steps = 100"),
            "train.toml:3:15: error[B1029]: eval.every_steps asks for evaluations, and there is no input for them\n"
            "  every_steps = 100\n                ^~~\n  help: add [input.eval] and plugin = \"NAME\" below\n");
  EXPECT_EQ(errors_of("[eval]\nevery_steps = 0\nat_checkpoint = false"), "");
}

TEST(Sections, TheBestCheckpointsHaveAMetricOfAnEvaluation) {
  const CheckpointSettings best = manifest_of(
                                      "[checkpoint]\nkeep_best = 3\nbest_metric = 'eval_hard/agreement'\nbest_mode = "
                                      "'max'\n[input.eval_hard]\nplugin = 'x'\n")
                                      .checkpoint;
  EXPECT_EQ(best.keep_best, 3);
  EXPECT_EQ(best.best_metric, "eval_hard/agreement");
  EXPECT_EQ(best.best_mode, BestMode::kMax);
  const std::string eval = "[input.eval]\nplugin = 'x'\n";
  for (const char* told_by_its_name : {"loss", "validation_loss", "perplexity", "mean_squared_error", "accuracy",
                                       "top_5_accuracy", "auc", "precision", "recall"})
    EXPECT_EQ(
        errors_of("[checkpoint]\nkeep_best = 1\nbest_metric = 'eval/" + std::string(told_by_its_name) + "'\n" + eval),
        "");
  const struct {
    std::string text, expected;
  } cases[] = {
      {"[checkpoint]\nkeep_best = 1\nbest_metric = 'eval/agreement'\n" + eval,
       "train.toml:3:15: error[B1036]: checkpoint.best_metric = \"eval/agreement\" does not show by its name which "
       "values are "
       "better\n"
       "  best_metric = 'eval/agreement'\n"
       "                ^~~~~~~~~~~~~~~~\n"
       "  help: add best_mode = \"min\" or best_mode = \"max\"\n"},
      {"[checkpoint]\nkeep_best = 1\nbest_metric = 'accuracy'\n" + eval,
       "train.toml:3:15: error[B1035]: checkpoint.best_metric is a metric of an evaluation, found \"accuracy\"\n"
       "  best_metric = 'accuracy'\n"
       "                ^~~~~~~~~~\n"
       "  help: did you mean \"eval/accuracy\"?\n"},
      {"[checkpoint]\nbest_metric = 'train/loss'\n" + eval,
       "train.toml:2:15: error[B1035]: checkpoint.best_metric is a metric of an evaluation, found \"train/loss\"\n"
       "  best_metric = 'train/loss'\n"
       "                ^~~~~~~~~~~~\n"
       "  help: it begins with the input's name: \"eval/loss\", \"eval_NAME/accuracy\"\n"},
      {"[checkpoint]\nkeep_best = 1\n",
       "train.toml:2:13: error[B1029]: the best checkpoints are those by \"eval/loss\", and there is no [input.eval]\n"
       "  keep_best = 1\n"
       "              ^\n"
       "  help: add [input.eval] and plugin = \"NAME\" below\n"},
      {"[checkpoint]\nkeep_best = 1\nbest_metric = 'eval_hard/loss'\n" + eval,
       "train.toml:3:15: error[B1029]: the best checkpoints are those by \"eval_hard/loss\", and there is no "
       "[input.eval_hard]\n"
       "  best_metric = 'eval_hard/loss'\n"
       "                ^~~~~~~~~~~~~~~~\n"
       "  help: add [input.eval_hard] and plugin = \"NAME\" below\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(errors_of(c.text), c.expected);
}

TEST(Sections, SessionHasItsKeys) {
  const SessionSettings session =
      manifest_of(
          "[session]\nsave_summaries_steps = 1\nsave_summaries_secs = 2\nevents_flush_secs = "
          "9\nlog_step_count_steps = "
          "3\nstop_grace_period_secs = 4\n"
          "signal_grace_secs = 5\nno_progress_secs = 6\nmax_recoveries = 7\nrecovery_backoff_secs = 8\nprecision = "
          "'bf16'")
          .session;
  EXPECT_EQ(session.save_summaries_steps, 1);
  EXPECT_EQ(session.save_summaries_secs, 2);
  EXPECT_EQ(session.events_flush_secs, 9);
  EXPECT_EQ(session.log_step_count_steps, 3);
  EXPECT_EQ(session.stop_grace_period_secs, 4);
  EXPECT_EQ(session.signal_grace_secs, 5);
  EXPECT_EQ(session.no_progress_secs, 6);
  EXPECT_EQ(session.max_recoveries, 7);
  EXPECT_EQ(session.recovery_backoff_secs, 8);
  EXPECT_EQ(session.precision, Precision::kBfloat16);
}

// One value too small or too large for each key that has a range.
TEST(Sections, EveryRangeIsKept) {
  const struct {
    std::string key, value, range;
  } cases[] = {
      {"run.max_steps", "0", "at least 1"},
      {"run.seed", "-1", "at least 0"},
      {"run.threads", "-1", "from 0 to 1024"},
      {"input.train.prefetch", "0", "from 1 to 1024"},
      {"input.train.prefetch", "1025", "from 1 to 1024"},
      {"optimizer.learning_rate", "-0.5", "at least 0"},
      {"optimizer.clip_norm", "-1", "at least 0"},
      {"optimizer.clip_value", "-1", "at least 0"},
      {"checkpoint.save_secs", "1e10", "from 0 to 1000000000"},
      {"checkpoint.save_steps", "-1", "at least 0"},
      {"checkpoint.max_to_keep", "-1", "at least 0"},
      {"checkpoint.keep_every_hours", "-1", "at least 0"},
      {"checkpoint.keep_every_steps", "-1", "at least 0"},
      {"checkpoint.save_failures", "0", "at least 1"},
      {"checkpoint.keep_best", "-1", "at least 0"},
      {"session.save_summaries_steps", "-1", "at least 0"},
      {"session.save_summaries_secs", "-1", "from 0 to 1000000000"},
      {"session.events_flush_secs", "-1", "from 0 to 1000000000"},
      {"session.log_step_count_steps", "-1", "at least 0"},
      {"session.stop_grace_period_secs", "-1", "from 0 to 1000000000"},
      {"session.signal_grace_secs", "-1", "from 0 to 1000000000"},
      {"session.no_progress_secs", "-1", "from 0 to 1000000000"},
      {"session.max_recoveries", "-1", "at least 0"},
      {"session.recovery_backoff_secs", "-1", "from 0 to 1000000000"},
  };
  for (const auto& c : cases) {
    const std::string errors = errors_of("", {c.key + "=" + c.value});
    EXPECT_EQ(errors.substr(0, errors.find(", found")),
              "--set " + c.key + ": error[B1013]: " + c.key + " must be " + c.range);
  }
  for (const std::string key : {"learning_rate", "warmup_steps"}) {
    const std::string name = "optimizer.learning_rate." + key;
    const std::string errors = errors_of("[optimizer]\nlearning_rate = { schedule = 'x' }", {name + "=-1"});
    EXPECT_EQ(errors.substr(0, errors.find(", found")),
              "--set " + name + ": error[B1013]: " + name + " must be at least 0");
  }
}

TEST(Sections, GroupsOfVariablesHaveSettingsOptionsAndPlaces) {
  const Manifest m = manifest_of(
      "[optimizer]\nname = 'adamw'\ngroups = [\n  { vars = 'a*', clip_norm = 2, weight_decay = 0.5 },\n"
      "  { vars = 'b', learning_rate_scale = 0.25, from_step = 7 },\n]\n");
  ASSERT_EQ(m.optimizer.groups.size(), 2u);
  const VariableGroup &a = m.optimizer.groups[0], &b = m.optimizer.groups[1];
  EXPECT_EQ(a.vars, "a*");
  EXPECT_EQ(a.clip_norm, 2);
  EXPECT_EQ(a.learning_rate_scale, 1);
  ASSERT_EQ(a.options.size(), 1u);
  EXPECT_EQ(a.options[0].key, "weight_decay");
  EXPECT_EQ(b.learning_rate_scale, 0.25);
  EXPECT_EQ(b.from_step, 7);
  EXPECT_FALSE(b.clip_norm.has_value());
  EXPECT_EQ(m.at("optimizer.groups.1.vars").line, 5);
}

TEST(Sections, NoKeyTakesADate) {
  for (const SectionKeys& section : manifest_keys()) {
    if (section.section.empty()) continue;
    for (const std::string& key : section.keys) {
      const bool groups = section.section == "optimizer.groups";
      const bool list = section.section == "metrics" || groups;
      const std::string name = section.section + (list ? ".0." : ".") + key;
      std::string text = groups ? "[[optimizer.groups]]" : list ? "[[metrics]]" : "";
      if (section.section == "optimizer.learning_rate") text = "[optimizer]\nlearning_rate = { }";
      const std::string errors = errors_of(text, {name + "=2020-01-01"});
      EXPECT_NE(errors.find("--set " + name + ": error[B1012]: " + name), std::string::npos) << errors;
    }
  }
}

}  // namespace
}  // namespace belay::runtime
