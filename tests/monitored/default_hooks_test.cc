// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/hooks/default_hooks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string text_of(const OptionValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{:.1f}", *d);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  return "no bool, int or float";
}

// "step_counter every_n_steps=100", ...
std::vector<std::string> texts(const std::vector<PluginUse>& hooks) {
  std::vector<std::string> out;
  for (const PluginUse& use : hooks) {
    std::string text = use.plugin;
    for (const PluginOption& option : use.options) text += " " + option.key + "=" + text_of(option.value);
    out.push_back(text);
  }
  return out;
}

std::vector<std::string> of_sections(const SessionSettings& session, const CheckpointSettings& checkpoint) {
  return texts(training_session_hooks(session, checkpoint, true, true));
}

TEST(TrainingSessionHooks, CountStepsSummarizeAndSave) {
  EXPECT_THAT(of_sections({}, {}), ElementsAre("step_counter every_n_steps=100", "summary_saver save_steps=100",
                                               "checkpoint_saver save_secs=600.0"));
}

TEST(TrainingSessionHooks, NeedAPlaceForWhatTheyWrite) {
  EXPECT_THAT(texts(training_session_hooks({}, {}, false, false)), IsEmpty());
  EXPECT_THAT(texts(training_session_hooks({}, {}, true, false)),
              ElementsAre("step_counter every_n_steps=100", "summary_saver save_steps=100"));
  EXPECT_THAT(texts(training_session_hooks({}, {}, false, true)), ElementsAre("checkpoint_saver save_secs=600.0"));
}

TEST(TrainingSessionHooks, TakeTheGivenPeriods) {
  SessionSettings session;
  CheckpointSettings checkpoint;
  session.log_step_count_steps = 7;
  session.save_summaries_secs = 2.5;
  checkpoint.save_steps = 30;
  EXPECT_THAT(
      of_sections(session, checkpoint),
      ElementsAre("step_counter every_n_steps=7", "summary_saver save_secs=2.5", "checkpoint_saver save_steps=30"));
  session.save_summaries_steps = 20;
  checkpoint.save_secs = 60.0;
  EXPECT_THAT(of_sections(session, checkpoint),
              ElementsAre("step_counter every_n_steps=7", "summary_saver save_steps=20 save_secs=2.5",
                          "checkpoint_saver save_steps=30 save_secs=60.0"));
}

TEST(TrainingSessionHooks, APeriodOfZeroSwitchesOff) {
  SessionSettings session;
  CheckpointSettings checkpoint;
  session.log_step_count_steps = 0;
  session.save_summaries_steps = 0;
  checkpoint.save_secs = 0;
  EXPECT_THAT(of_sections(session, checkpoint), IsEmpty());
  // The other period is still there.
  session.save_summaries_secs = 5.0;
  checkpoint.save_steps = 10;
  EXPECT_THAT(of_sections(session, checkpoint),
              ElementsAre("summary_saver save_secs=5.0", "checkpoint_saver save_steps=10"));
}

PluginUse named(const std::string& plugin) {
  PluginUse use;
  use.plugin = plugin;
  return use;
}

TEST(HooksOfARun, StandInCallingOrderBeforeTheManifests) {
  Manifest manifest;
  manifest.run.dir = "/runs/a";
  manifest.run.max_steps = 500;
  manifest.hooks = {named("logging_tensor"), named("my_hook")};
  EXPECT_THAT(
      texts(hooks_of_run(manifest)),
      ElementsAre("stop_at_step last_step=500", "step_counter every_n_steps=100",
                  "summary_saver save_steps=100 max_steps=500 last_loss=true", "checkpoint_saver save_secs=600.0",
                  "nan_tensor", "json_lines max_steps=500", "progress max_steps=500", "logging_tensor", "my_hook"));
}

TEST(HooksOfARun, WithoutADirectoryKeepNothing) {
  EXPECT_THAT(texts(hooks_of_run({})), ElementsAre("nan_tensor", "progress"));
}

TEST(HooksOfARun, ADefaultThatTheManifestNamesIsLeftToIt) {
  Manifest manifest;
  manifest.run.dir = "/runs/a";
  PluginUse own = named("checkpoint_saver");
  own.options.push_back({"save_steps", std::int64_t{5}, {}, {}});
  manifest.hooks = {named("my_hook"), own, own};
  EXPECT_THAT(texts(hooks_of_run(manifest)),
              ElementsAre("step_counter every_n_steps=100", "summary_saver save_steps=100 last_loss=true", "nan_tensor",
                          "json_lines", "progress", "my_hook", "checkpoint_saver save_steps=5",
                          "checkpoint_saver save_steps=5"));
}

// A wrong option of a default hook is reported with its origin.
TEST(HooksOfARun, KnowWhereTheyComeFrom) {
  const std::vector<PluginUse> hooks = hooks_of_run({});
  EXPECT_EQ(hooks[0].at.file, "the default hook nan_tensor");
  EXPECT_EQ(hooks[0].plugin_at.file, "the default hook nan_tensor");
}

}  // namespace
}  // namespace belay::runtime
