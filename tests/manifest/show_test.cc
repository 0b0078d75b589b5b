// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/show.h"

#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

Manifest manifest_from(const std::string& text) {
  const Parsed result = parsed(text, {}, "/m/train.toml");
  EXPECT_EQ(result.errors, "");
  return result.manifest.value();
}

TEST(Show, EveryDefaultIsFilledIn) {
  EXPECT_EQ(effective_manifest(manifest_from(kRest)),
            "[run]\n"
            "mode = \"train\"\n"
            "checkpoint = \"latest\"\n"
            "# dir: not set, nothing is kept\n"
            "# max_steps: not set, until the input ends\n"
            "min_steps = 0\n"
            "seed = 42\n"
            "threads = 0\n"
            "\n"
            "[plugins]\n"
            "path = []\n"
            "\n"
            "[input.train]\n"
            "plugin = \"idx\"\n"
            "prefetch = 2\n"
            "\n"
            "[model]\n"
            "plugin = \"mlp\"\n"
            "\n"
            "[optimizer]\n"
            "name = \"sgd\"\n"
            "# file: not set, found by its name\n"
            "learning_rate = 0.001\n"
            "clip_norm = 0.0\n"
            "clip_value = 0.0\n"
            "accumulate = 1\n"
            "groups = []\n"
            "\n"
            "[checkpoint]\n"
            "# save_secs: not set, 600 where save_steps is not set either\n"
            "# save_steps: not set, off\n"
            "save = \"async\"\n"
            "basename = \"model.ckpt\"\n"
            "max_to_keep = 5\n"
            "keep_every_hours = 0.0\n"
            "keep_every_steps = 0\n"
            "on_save_error = \"continue\"\n"
            "save_failures = 3\n"
            "save_on_exception = false\n"
            "refuse_non_finite = true\n"
            "keep_best = 0\n"
            "best_metric = \"eval/loss\"\n"
            "best_mode = \"auto\"\n"
            "\n"
            "[eval]\n"
            "# every_steps: not set, off\n"
            "# every_secs: not set, off\n"
            "at_checkpoint = false\n"
            "inputs = []\n"
            "batches = 0\n"
            "start_delay_secs = 0.0\n"
            "throttle_secs = 0.0\n"
            "# timeout_secs: not set, as long as it takes\n"
            "at_start = true\n"
            "on_error = \"stop\"\n"
            "\n"
            "[predict]\n"
            "keys = []\n"
            "format = \"auto\"\n"
            "# output: not set, stdout\n"
            "# prompt: not set, no text is sampled\n"
            "length = 200\n"
            "temperature = 1.0\n"
            "seed = 42\n"
            "\n"
            "[session]\n"
            "# save_summaries_steps: not set, 100 where save_summaries_secs is not set either\n"
            "# save_summaries_secs: not set, off\n"
            "events_flush_secs = 120.0\n"
            "log_step_count_steps = 100\n"
            "stop_grace_period_secs = 120.0\n"
            "signal_grace_secs = 25.0\n"
            "no_progress_secs = 1800.0\n"
            "max_recoveries = 10\n"
            "recovery_backoff_secs = 1.0\n"
            "hooks_on_all_ranks = []\n"
            "precision = \"float32\"\n");
}

TEST(Show, TablesOfPluginsAreWrittenWithTheirOptions) {
  const std::string text = effective_manifest(
      manifest_from(kRest + "[[hooks]]\nplugin = 'a'\nfile = 'a.so'\nname = 'n'\nx = [{ y = 1 }]\nt = "
                            "\"a\\u001bb\"\n[scaffold]\nsaver = { file = "
                            "'/s.so' }\ninit_fn = { plugin = 'i', from = '${DATA}/x' }\n"));
  EXPECT_NE(
      text.find("\n[scaffold.saver]\nfile = \"/s.so\"\n\n[[scaffold.init_fn]]\nplugin = \"i\"\nfrom = \"${DATA}/x\"\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\n[[hooks]]\nplugin = \"a\"\nfile = \"/m/a.so\"\nname = \"n\"\non_error = \"stop\"\nx.0.y = 1\n"
                      "t = \"a\\u001bb\"\n"),
            std::string::npos)
      << text;
}

// Showing and reading are two ends of the same declarations.
TEST(Show, WhatIsShownReadsBackAsTheSameManifest) {
  const std::string texts[] = {
      kRest,
      "[run]\ndir = 'x'\nmax_steps = 7\nseed = 9223372036854775807\nthreads = 3\n[plugins]\npath = ['a', '/b c']\n" +
          kRest,
      "[optimizer]\nname = 'momentum'\nmomentum = 0.1\nuse_nesterov = true\nlearning_rate = 1e-30\nclip_norm = 5\n" +
          kRest,
      "[optimizer]\naccumulate = 4\ngroups = [{ vars = 'a\"*', clip_norm = 1, weight_decay = 0.5 }, "
      "{ vars = 'b', learning_rate_scale = 0.1, from_step = 3 }]\n" +
          kRest,
      "[optimizer]\nname = 'adam'\nbeta1 = 0.1\nbeta2 = 0.2\nepsilon = 0.3\nclip_value = 0.1\n" + kRest,
      "[optimizer]\nname = 'adamw'\nweight_decay = 0.2\n" + kRest,
      "[optimizer]\nname = 'rmsprop'\nmomentum = 0.1\ndecay = 0.2\ncentered = true\nepsilon = 0.3\n" + kRest,
      "[optimizer]\nname = 'ftrl'\ninitial_accumulator_value = 0.2\nl1_regularization_strength = 0.1\n"
      "l2_regularization_strength = 0.3\nlearning_rate_power = -1\n" +
          kRest,
      "[optimizer]\nlearning_rate = { schedule = 'constant', learning_rate = 0.25, warmup_steps = 9 }\n" + kRest,
      "[optimizer]\nlearning_rate = { schedule = 'inverse_time_decay', decay_rate = 2, warmup_steps = 3 }\n" + kRest,
      "[optimizer]\nlearning_rate = { schedule = 'exponential_decay', decay_steps = 9, decay_rate = 0.3, staircase = "
      "true }\n" +
          kRest,
      "[optimizer]\nlearning_rate = { schedule = 'polynomial_decay', end_learning_rate = 0, power = 3, cycle = true "
      "}\n" +
          kRest,
      "[optimizer]\nlearning_rate = { schedule = 'cosine_decay', alpha = 0.1 }\n" + kRest,
      "[optimizer]\nlearning_rate = { schedule = 'piecewise_constant', boundaries = [1, 2], values = [1, 0.5, 0.1] "
      "}\n" +
          kRest,
      "[optimizer]\nlearning_rate = { schedule = 'constant', learning_rate = 0.25 }\n" + kRest,
      "[optimizer]\nfile = 'lion.so'\nlearning_rate = { file = 'half_life.so', \"a.b\" = 1, c = { d = 'e' } }\nx.y = "
      "1\n" +
          kRest,
      "[checkpoint]\nsave_secs = 0.1\nsave_steps = 5\nsave = 'sync'\nbasename = 'mnist'\nmax_to_keep = 0\n"
      "keep_every_hours = 1.5\nkeep_every_steps = 7\non_save_error = 'pause'\nsave_failures = 1\n"
      "save_on_exception = true\nrefuse_non_finite = false\n" +
          kRest,
      "[input.eval]\nplugin = 'idx'\n[eval]\nevery_steps = 5\nevery_secs = 0.5\nat_checkpoint = true\ninputs = "
      "['eval']\nbatches = 7\nstart_delay_secs = 1\nthrottle_secs = 2\nat_start = false\non_error = 'continue'\n" +
          kRest,
      "[checkpoint]\nkeep_best = 2\nbest_metric = 'eval_hard/agreement'\nbest_mode = 'max'\n[input.eval_hard]\n"
      "plugin = 'x'\n" +
          kRest,
      "[session]\nsave_summaries_steps = 0\nsave_summaries_secs = 2.5\nevents_flush_secs = 7.0\nlog_step_count_steps = "
      "3\nmax_recoveries = 0\n"
      "precision = 'bf16'\n" +
          kRest,
      kRest +
          "hidden = []\nnames.\"a b\".\"\" = 'é \\u007f \"'\nx = [[1, 2.5], [true]]\ny = -inf\n\"z.w\" = 1\nz = 2\n",
      kRest + "[[ops]]\nplugin = 'mish'\n[[ops]]\nfile = 'my.so'\nplugin = 'x'\n",
      kRest +
          "[[metrics]]\nkind = 'auc'\nlabels = 'y'\npredictions = 'p'\nweights = 'w'\nname = 'area'\nclass_id = 1\n"
          "num_thresholds = 9\ncurve = 'pr'\n[[metrics]]\nkind = 'in_top_k'\nlabels = 'y'\npredictions = 'p'\nk = 3\n"
          "[[metrics]]\nkind = 'perplexity'\nvalues = 'v'\n[[metrics]]\nkind = 'confusion_matrix'\nlabels = 'y'\n"
          "predictions = 'c'\nclasses = 4\n",
      kRest + "[[hooks]]\nplugin = 'a'\non_error = 'disable'\n[[hooks]]\nfile = 'b.so'\nbig = -9223372036854775808\n",
      kRest +
          "[input.eval]\nfile = '/x.so'\nprefetch = 9\nname = 'e'\n[scaffold]\nsaver = { plugin = 's', a = 1 "
          "}\ninit_fn = "
          "[{ plugin = 'i' }, { plugin = 'j', vars = ['.*'] }]\n",
  };
  for (const std::string& text : texts) {
    const Manifest first = manifest_from(text);
    const std::string shown = effective_manifest(first);
    const Manifest second = manifest_from(shown);
    EXPECT_TRUE(first == second) << text << "\nis shown as\n" << shown;
    EXPECT_EQ(effective_manifest(second), shown);
  }
}

TEST(Show, EveryKeyIsShownOrTold) {
  Manifest all = manifest_from(kRest);
  std::string text;
  for (const char* kind : {"auc", "mean", "in_top_k", "confusion_matrix"}) {
    MetricSection& metric = all.metrics.emplace_back();
    metric.kind = kind;
    metric.labels.name = metric.predictions.name = metric.values.name = "x";
    metric.classes = 3;
  }
  text += effective_manifest(all);
  VariableGroup& group = all.optimizer.groups.emplace_back();
  group.vars = "x";
  group.clip_norm = 1;
  all.optimizer.learning_rate = {.schedule = "x", .file = "/x.so", .learning_rate = 1};
  text += effective_manifest(all);
  for (const SectionKeys& section : manifest_keys()) {
    if (section.section.empty() || section.section == "scaffold") continue;
    for (const std::string& key : section.keys) {
      const bool shown =
          text.find(key + " = ") != std::string::npos || text.find("# " + key + ": ") != std::string::npos;
      EXPECT_TRUE(shown) << section.section << "." << key;
    }
  }
}

TEST(Show, ManifestsDifferWhereTheyMeanSomethingElse) {
  const Manifest first = manifest_from(kRest), moved = manifest_from("\n\n\n" + kRest);
  EXPECT_TRUE(first == moved);
  EXPECT_FALSE(first == manifest_from(kRest + "units = 5\n"));
  EXPECT_FALSE(first == manifest_from("[optimizer]\nclip_norm = 1\n" + kRest));
}

TEST(ShowOrigin, EachValueHasItsFileAndLineOrItsSetOrIsADefault) {
  const Parsed result = parsed(
      "[run]\nmax_steps = 5\n[[hooks]]\nplugin = \"a\"\n[[hooks]]\nplugin = \"b\"\nx.y = 1\n[optimizer]\n"
      "learning_rate = { schedule = \"cosine_decay\", decay_steps = 5 }" +
          kRest,
      {"run.threads=2"});
  ASSERT_EQ(result.errors, "");
  const std::string shown = manifest_with_origins(*result.manifest);
  for (const char* line :
       {"max_steps = 5  # train.toml:2\n", "threads = 2  # --set run.threads\n", "seed = 42  # default\n",
        "plugin = \"a\"  # train.toml:4\n", "plugin = \"b\"  # train.toml:6\n", "x.y = 1  # train.toml:7\n",
        "plugin = \"idx\"  # train.toml:11\n", "decay_steps = 5 }  # train.toml:9\n"})
    EXPECT_NE(shown.find(line), std::string::npos) << line << shown;
}

TEST(ShowOrigin, ReadsBackAsTheSameManifest) {
  const Parsed result = parsed("[run]\nmax_steps = 5" + kRest);
  EXPECT_EQ(*parsed(manifest_with_origins(*result.manifest)).manifest, *result.manifest);
}

}  // namespace
}  // namespace belay::runtime
