// SPDX-License-Identifier: Apache-2.0
// The notes of the plugins that come with Belay: what can be pasted from them, and what is checked by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "runtime/cli/plugins/describe_command.h"
#include "runtime/cli/plugins/manifest_block.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/loader/options/check_options.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/parse.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;

class FirstPartyNotes : public ::testing::Test {
 protected:
  // The problems of a manifest, as `belay check` prints them before it loads anything.
  std::string problems_of(const std::string& manifest_text) {
    Diagnostics problems;
    const auto manifest = parse_manifest(ManifestSource{"train.toml", manifest_text}, {}, {}, problems);
    if (!manifest) return problems.text();
    const Registry linked;
    PluginResolver resolver(linked, search_, policy_, cpu_, {{"/"}, {}}, problems);
    ResolvedPlugins all = resolver.resolve(*manifest);
    resolver.resolve_optimizer(*manifest, all);
    return problems.text();
  }

  FilePolicy policy_;
  const CpuFeatures cpu_;
  const PluginSearch search_{{{{BELAY_BINARY_DIR "/plugins", "the build"}}, {}}, policy_, cpu_};
};

TEST_F(FirstPartyNotes, N_04a_TheBlockThatDescribePrintsIsAcceptedForEachPlugin) {
  ASSERT_GT(search_.plugins().size(), 50u);
  for (const FoundPlugin& plugin : search_.plugins()) {
    std::string text = manifest_block(plugin.info, "");
    EXPECT_EQ(text.find("..."), text.npos) << "a required option without an example:\n" << text;
    if (plugin.info.kind != PluginKind::kInput) text += "[input.train]\nplugin = \"digits\"\n";
    if (plugin.info.kind != PluginKind::kModel) text += "[model]\nplugin = \"mlp\"\n";
    if (plugin.info.kind == PluginKind::kExporter) text += "[run]\ndir = \"run\"\n";
    EXPECT_EQ(problems_of(text), "") << text;
  }
}

TEST_F(FirstPartyNotes, N_01f_AMisspeltKeyOfALayerIsShownWithItsPlaceAndTheNearestName) {
  const std::string problems = problems_of(R"([input.train]
plugin = "tfrecord"
files = ["x"]
features = { x = { dtype = "float23" } }
[model]
plugin = "sequential"
layers = [
  { type = "conv", filters = 4, size = 3 },
  { type = "dense", unitz = 10, units = 0 },
]
)");
  for (const char* part :
       {"train.toml:4:28: error[B2034]: \"features.x.dtype\" is \"float23\", must be one of: float32, int64, string, "
        "uint8\n"
        "  features = { x = { dtype = \"float23\" } }\n"
        "                             ^~~~~~~~~\n"
        "  help: did you mean \"float32\"?\n",
        "train.toml:9:21: error[B2030]: \"layers.1.unitz\" is not an option of model \"sequential\"\n"
        "    { type = \"dense\", unitz = 10, units = 0 },\n"
        "                      ^~~~~\n"
        "  help: did you mean \"units\"? \"layers.1\" has: type, name, units, activation, use_bias\n",
        "train.toml:9:41: error[B2033]: \"layers.1.units\" is 0, must be at least 1\n"})
    EXPECT_THAT(problems, HasSubstr(part));
}

// In each plugin, and in the host's own sections.
TEST_F(FirstPartyNotes, T_117_NumbersThatAFloat32HasNotAreRefusedByOptionAndValue) {
  const std::string rest = "[input.train]\nplugin = \"digits\"\n[model]\nplugin = \"mlp\"\n[optimizer]\n";
  const struct {
    const char *keys, *problem;
  } cases[] = {
      {"name = \"adam\"\nbeta1 = 0.99999999", "\"beta1\" is 0.99999999, which is 1 as a float32, must be less"},
      {"name = \"adam\"\nepsilon = 1e-50", "\"epsilon\" is 1e-50, which is 0 as a float32"},
      {"name = \"rmsprop\"\ndecay = 0.99999999", "\"decay\" is 0.99999999, which is 1 as a float32, must be less"},
      {"clip_norm = 1e39", "optimizer.clip_norm is 1e+39, which is no float32"},
      {"clip_value = 1e-46", "optimizer.clip_value is 1e-46, which is 0 as a float32"},
      {"learning_rate = 1e39", "optimizer.learning_rate is 1e+39, which is no float32"},
      {"learning_rate = { schedule = \"constant\", learning_rate = 1e39 }",
       "optimizer.learning_rate.learning_rate is 1e+39, which is no float32"},
      {"groups = [{ vars = \"a*\", clip_norm = 1e39 }]", "optimizer.groups.0.clip_norm is 1e+39, which is no float32"},
  };
  for (const auto& c : cases) EXPECT_THAT(problems_of(rest + c.keys + "\n"), HasSubstr(c.problem)) << c.keys;
  std::size_t checked = 0;
  for (const FoundPlugin& plugin : search_.plugins())
    for (const OptionInfo& option : plugin.info.options) {
      if (option.type != OptionType::kFloat || option.list || option.watching || option.max) continue;
      PluginUse use;
      use.plugin = plugin.info.name;
      use.options = {{option.name, 1e39, {}, {}}};
      Diagnostics problems;
      check_options(plugin.info, use, {{"/"}, {}}, problems);
      EXPECT_THAT(problems.text(), HasSubstr("\"" + option.name + "\" is 1e+39, which is no float32")) << use.plugin;
      ++checked;
    }
  EXPECT_GE(checked, 5u);
}

TEST_F(FirstPartyNotes, N_04b_KeysBelowATableAreDescribedBehindIt) {
  std::ostringstream out, err;
  ASSERT_EQ(describe_command("sequential", search_, false, out, err), 0) << err.str();
  const std::string text = out.str();
  const std::size_t layers = text.find("\n    layers  "), type = text.find("\n    layers[].type  "),
                    units = text.find("\n    layers[].units  "), task = text.find("\n    task  ");
  ASSERT_NE(layers, text.npos) << text;
  EXPECT_LT(layers, type);
  EXPECT_LT(type, units);
  EXPECT_LT(units, task);
  EXPECT_THAT(text.substr(units, task - units), HasSubstr("int       required"));
  EXPECT_THAT(text.substr(units, task - units), HasSubstr("at least 1; for type dense, lstm, gru"));
  EXPECT_THAT(text, HasSubstr("    [model]\n    plugin = \"sequential\"\n"
                              "    layers = [{ type = \"dense\", units = 10 }]\n"));
}

TEST_F(FirstPartyNotes, T_104_WhatDecidesWhatBatchesHoldIsInheritedByOtherInputs) {
  std::set<std::string> learned;
  for (const FoundPlugin& plugin : search_.plugins())
    for (const OptionInfo& option : plugin.info.options)
      if (option.learned) learned.insert(plugin.info.name + "." + option.name);
  EXPECT_EQ(learned, (std::set<std::string>{"csv.at",
                                            "csv.eval_fraction",
                                            "csv.eval_values",
                                            "csv.every",
                                            "csv.features",
                                            "csv.fold",
                                            "csv.folds",
                                            "csv.label_type",
                                            "csv.split_by",
                                            "csv.split_column",
                                            "csv.split_seed",
                                            "csv.standardize",
                                            "csv.test_fraction",
                                            "csv.test_values",
                                            "csv.train_values",
                                            "idx.class_names",
                                            "idx.classes",
                                            "idx.flatten",
                                            "idx.mean",
                                            "idx.scale",
                                            "idx.std",
                                            "npy.at",
                                            "npy.class_names",
                                            "npy.classes",
                                            "npy.columns",
                                            "npy.eval_fraction",
                                            "npy.every",
                                            "npy.fold",
                                            "npy.folds",
                                            "npy.mean",
                                            "npy.scale",
                                            "npy.split_seed",
                                            "npy.std",
                                            "npy.test_fraction",
                                            "text.sequence_length",
                                            "text.units",
                                            "text.unknown",
                                            "tfrecord.at",
                                            "tfrecord.class_names",
                                            "tfrecord.classes",
                                            "tfrecord.eval_fraction",
                                            "tfrecord.every",
                                            "tfrecord.features",
                                            "tfrecord.fold",
                                            "tfrecord.folds",
                                            "tfrecord.label",
                                            "tfrecord.split_seed",
                                            "tfrecord.test_fraction"}));
}

TEST_F(FirstPartyNotes, N_09b_WhatOnlyWatchesIsMarkedAndWhatChangesNumbersIsNot) {
  std::set<std::string> watching;
  for (const FoundPlugin& plugin : search_.plugins())
    for (const auto* options : {&plugin.info.options, &plugin.info.nested})
      for (const OptionInfo& option : *options)
        if (option.watching) watching.insert(plugin.info.name + "." + option.name);
  EXPECT_EQ(watching, (std::set<std::string>{"activation_stats.every_n_steps",
                                             "activation_stats.tensors",
                                             "checkpoint_saver.save_secs",
                                             "checkpoint_saver.save_steps",
                                             "csv.decode_threads",
                                             "csv.epochs",
                                             "csv_logger.every_n_steps",
                                             "csv_logger.output_file",
                                             "csv_logger.tensors",
                                             "digits.decode_threads",
                                             "digits.epochs",
                                             "early_stopping.every_n_steps",
                                             "early_stopping.higher_than",
                                             "early_stopping.lower_than",
                                             "early_stopping.min_delta",
                                             "early_stopping.mode",
                                             "early_stopping.patience",
                                             "early_stopping.patience_steps",
                                             "early_stopping.start_from_step",
                                             "early_stopping.tensor",
                                             "environment.output_file",
                                             "environment.variables",
                                             "final_ops.output_file",
                                             "global_step_waiter.poll_secs",
                                             "global_step_waiter.wait_until_step",
                                             "gloo.interface",
                                             "gloo.rendezvous",
                                             "gradient_norms.every_n_steps",
                                             "gradient_norms.log",
                                             "gradient_norms.per_variable",
                                             "gradient_norms.updates",
                                             "gradient_norms.weights",
                                             "histograms.every_n_steps",
                                             "histograms.gradients",
                                             "histograms.tensors",
                                             "histograms.weights",
                                             "history.capacity",
                                             "history.every_n_steps",
                                             "history.output_file",
                                             "history.tensors",
                                             "idx.decode_threads",
                                             "idx.epochs",
                                             "input_wait.every_n_steps",
                                             "input_wait.warn_share",
                                             "json_lines.every_n_steps",
                                             "json_lines.max_steps",
                                             "json_lines.output_file",
                                             "json_lines.tensors",
                                             "limit_batches.batches",
                                             "limit_batches.count_earlier_attempts",
                                             "logging_tensor.at_end",
                                             "logging_tensor.every_n_iter",
                                             "logging_tensor.every_n_secs",
                                             "logging_tensor.format",
                                             "logging_tensor.tensors",
                                             "mpi_mpich.communicator",
                                             "mpi_openmpi.communicator",
                                             "lr_monitor.every_n_steps",
                                             "lr_monitor.log",
                                             "lr_monitor.tensors",
                                             "model_summary.depth",
                                             "model_summary.log",
                                             "model_summary.output_file",
                                             "nan_guard.every_n_steps",
                                             "nan_guard.gradients",
                                             "nan_guard.weights",
                                             "nan_tensor.check_inf",
                                             "nan_tensor.fail_on_nan_loss",
                                             "nan_tensor.tensor",
                                             "npy.epochs",
                                             "profiler.output_dir",
                                             "profiler.save_secs",
                                             "profiler.save_steps",
                                             "profiler.show_dataflow",
                                             "profiler.show_memory",
                                             "profiler.show_phases",
                                             "progress.every_percent",
                                             "progress.every_secs",
                                             "progress.max_steps",
                                             "progress.tensors",
                                             "prometheus.every_secs",
                                             "prometheus.output_file",
                                             "prometheus.tensors",
                                             "running_average.alpha",
                                             "running_average.every_n_steps",
                                             "running_average.log",
                                             "running_average.tensors",
                                             "safetensors.metadata",
                                             "safetensors.metadata.*",
                                             "safetensors.shard_bytes",
                                             "sample_dump.every_n_steps",
                                             "sample_dump.images",
                                             "sample_dump.output_file",
                                             "sample_dump.rows",
                                             "sample_dump.tensors",
                                             "spike_detection.action",
                                             "spike_detection.deviations",
                                             "spike_detection.output_file",
                                             "spike_detection.start_from_step",
                                             "spike_detection.tensor",
                                             "spike_detection.window",
                                             "state_digest.every_n_steps",
                                             "state_digest.log",
                                             "state_digest.output_file",
                                             "step_counter.every_n_secs",
                                             "step_counter.every_n_steps",
                                             "stop_after_n_evals.log_progress",
                                             "stop_after_n_evals.num_evals",
                                             "stop_at_checkpoint_step.check_secs",
                                             "stop_at_checkpoint_step.directory",
                                             "stop_at_checkpoint_step.last_step",
                                             "stop_at_step.last_step",
                                             "stop_at_step.num_steps",
                                             "stop_file.every_n_steps",
                                             "stop_file.file_name",
                                             "stop_file.remove",
                                             "summary_at_end.summaries",
                                             "summary_saver.last_loss",
                                             "summary_saver.max_steps",
                                             "summary_saver.save_secs",
                                             "summary_saver.save_steps",
                                             "summary_saver.summaries",
                                             "system_metrics.every_n_secs",
                                             "system_metrics.every_n_steps",
                                             "system_metrics.log",
                                             "text.epochs",
                                             "text.vocabulary_out",
                                             "tf_bundle.shard_bytes",
                                             "tfrecord.decode_threads",
                                             "tfrecord.epochs",
                                             "threshold_stop.diverged",
                                             "threshold_stop.every_n_steps",
                                             "threshold_stop.mode",
                                             "threshold_stop.patience",
                                             "threshold_stop.start_from_step",
                                             "threshold_stop.target",
                                             "threshold_stop.tensor",
                                             "time_limit.count_earlier_attempts",
                                             "time_limit.seconds"}));
}

TEST_F(FirstPartyNotes, N_08c_AHookSaysWhetherItKeepsAStateAndWhichCallbacksItHas) {
  const PluginInfo& stopping = search_.find(PluginKind::kHook, "early_stopping").info;
  EXPECT_EQ(stopping.state, true);
  ASSERT_TRUE(stopping.uses.has_value());
  EXPECT_THAT(*stopping.uses, ::testing::IsSupersetOf({"begin", "after_run", "save_state", "load_state"}));
  EXPECT_EQ(search_.find(PluginKind::kHook, "nan_tensor").info.state, false);
  for (const FoundPlugin& plugin : search_.plugins())
    EXPECT_EQ(plugin.info.state.has_value(), plugin.info.kind == PluginKind::kHook) << plugin.info.name;
}

TEST_F(FirstPartyNotes, AMisspeltKeyThatMustBeGivenIsOneProblem) {
  const std::string rest = "[input.train]\nplugin = \"digits\"\n[model]\nplugin = \"sequential\"\n";
  for (const char* key : {"unit", "out_features"}) {
    const std::string problems = problems_of(rest + "layers = [{ type = \"dense\", " + key + " = 10 }]\n");
    EXPECT_THAT(problems, HasSubstr("did you mean \"units\"?"));
    EXPECT_THAT(problems, ::testing::Not(HasSubstr("needs the option")));
  }
  EXPECT_THAT(problems_of(rest + "layers = [{ type = \"dense\" }]\n"),
              HasSubstr("needs the option \"layers.0.units\""));
  EXPECT_THAT(problems_of("[input.train]\nplugin = \"csv\"\npaht = \"a.csv\"\n[model]\nplugin = \"linear\"\n"),
              ::testing::Not(HasSubstr("needs the option")));
}

TEST_F(FirstPartyNotes, WordsThatOtherProgramsNamesLeadToAreOptionsAndValuesOfSomePlugin) {
  std::map<std::string, std::set<std::string>> words;
  for (const SectionKeys& section : manifest_keys()) {
    words["option"].insert(section.keys.begin(), section.keys.end());
    for (const auto& [key, choices] : section.choices) words["value"].insert(choices.begin(), choices.end());
  }
  for (const FoundPlugin& plugin : search_.plugins())
    for (const auto* options : {&plugin.info.options, &plugin.info.nested})
      for (const OptionInfo& option : *options) {
        words["option"].insert(option.name.substr(option.name.rfind('.') + 1));
        words["value"].insert(option.choices.begin(), option.choices.end());
      }
  int checked = 0;
  for (const OtherName& other : other_names()) {
    const auto known = words.find(other.kind);
    if (known == words.end()) continue;
    ++checked;
    EXPECT_TRUE(known->second.contains(other.key)) << other.kind << " " << other.key;
  }
  EXPECT_GT(checked, 30);
}

}  // namespace
}  // namespace belay::runtime
