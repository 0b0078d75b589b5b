// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/other_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "runtime/manifest/parse.h"
#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

std::map<std::string, std::vector<std::string>> keys_by_section() {
  std::map<std::string, std::vector<std::string>> keys;
  for (const SectionKeys& s : manifest_keys()) keys[s.section] = s.keys;
  return keys;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Names of options, or of values of a key, are not here: tests/cli/first_party_notes_test.cc has those.
bool is_word(const OtherName& other) {
  return other.kind == std::string_view("option") || other.kind == std::string_view("value");
}

TEST(OtherNames, EachSectionAndKeyThatIsRecommendedExists) {
  const auto keys = keys_by_section();
  for (const OtherName& other : other_names()) {
    const std::string section = other.section, key = other.key;
    if (section.empty()) continue;
    EXPECT_TRUE(holds(keys.at(""), section.substr(0, section.find('.')))) << other.names;
    // Those of a plugin's table are its options.
    if (key.empty() || section == "hooks" || section == "model" || section.starts_with("input.")) continue;
    EXPECT_TRUE(holds(keys.at(section), key)) << section << "." << key;
  }
}

TEST(OtherNames, EachPluginThatIsRecommendedExists) {
  const std::filesystem::path plugins = std::filesystem::path(BELAY_SOURCE_DIR) / "plugins";
  int plugin_names = 0;
  for (const OtherName& other : other_names()) {
    if (*other.kind == '\0' || *other.section != '\0' || is_word(other)) continue;
    ++plugin_names;
    const std::filesystem::path folder = plugins / (std::string(other.kind) + "s") / other.key;
    EXPECT_TRUE(std::filesystem::is_directory(folder)) << folder;
  }
  EXPECT_GT(plugin_names, 10);
}

TEST(OtherNames, NamesAreThereOnceInPlainSpelling) {
  std::set<std::string> seen;
  for (const OtherName& other : other_names()) {
    std::istringstream names(other.names);
    for (std::string name; names >> name;) {
      const std::string ours = is_word(other) ? std::string(":") + other.key : "";  // one of several, by what there is
      EXPECT_TRUE(seen.insert(std::string(other.kind) + ":" + name + ours).second) << name;
      EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; })) << name;
      EXPECT_EQ(std::string(name).find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos) << name;
    }
  }
}

TEST(OtherNames, NoKeyOfOursIsInTheTable) {
  for (const auto& [section, keys] : keys_by_section())
    for (const std::string& key : keys)
      if (const std::string help = help_for_other_key(key); !help.empty()) {
        const bool is_section_too = key == "schedule" || key == "alpha" || key == "steps";
        EXPECT_TRUE(is_section_too) << section << "." << key << ": " << help;
      }
}

TEST(OtherNames, KeysOfOtherProgramsLeadToOurs) {
  EXPECT_EQ(help_for_other_key("lr"), "write learning_rate in [optimizer]");
  EXPECT_EQ(help_for_other_key("max-epochs"), "write epochs in [input.train]");
  EXPECT_EQ(help_for_other_key("per_device_train_batch_size"), "write batch_size in [input.train]");
  EXPECT_EQ(help_for_other_key("callbacks"), "write [[hooks]]: one for each");
  EXPECT_EQ(help_for_other_key("resume_from_checkpoint"),
            "a run continues from the newest checkpoint of its directory by itself");
  EXPECT_EQ(help_for_other_key("weight_decay"), "write name in [optimizer]: name = \"adamw\" has weight_decay");
  EXPECT_EQ(help_for_other_key("fast_dev_run"), "belay run --short N makes N steps and keeps nothing");
  EXPECT_EQ(help_for_other_key("frobnicate"), "");
}

TEST(OtherNames, AKeyIsNotSentWhereItIs) {
  EXPECT_EQ(help_for_other_key("shuffle"), "write shuffle in [input.train]");
  EXPECT_EQ(help_for_other_key("shuffle", "input.train"), "");
  EXPECT_EQ(help_for_other_key("hidden", "run"), "write hidden in [model]");
  EXPECT_EQ(help_for_other_key("hidden", "model"), "");
  EXPECT_EQ(help_for_other_key("weight_decay", "optimizer"),
            "write name in [optimizer]: name = \"adamw\" has weight_decay");
}

TEST(OtherNames, AKeyOfAnotherSectionLeadsToItsCounterpartHere) {
  EXPECT_EQ(help_for_key_in("every_steps", "checkpoint"), "write save_steps in [checkpoint]");
  EXPECT_EQ(help_for_key_in("save_secs", "eval"), "write every_secs in [eval]");
  EXPECT_EQ(help_for_key_in("every_steps", "run"), "");
  Diagnostics problems;
  const Environment none = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  parse_manifest(ManifestSource{"train.toml", "[checkpoint]\nevery_steps = 5\n"}, {}, none, problems);
  EXPECT_NE(problems.text().find("unknown key \"every_steps\" in [checkpoint]\n  every_steps = 5\n  ^~~~~~~~~~~\n"
                                 "  help: write save_steps in [checkpoint]\n"),
            std::string::npos)
      << problems.text();
}

TEST(OtherNames, WordsOfOtherProgramsAreThoseThatThereAre) {
  EXPECT_EQ(word_for_other("option", "kernel_size", {"filters", "size"}), "size");
  EXPECT_EQ(word_for_other("option", "kernel_size", {"filters"}), "");
  EXPECT_EQ(word_for_other("option", "outputDim", {"units"}), "units");
  EXPECT_EQ(word_for_other("option", "units", {"hidden", "classes"}), "hidden");
  EXPECT_EQ(help_for_other_key("units", "model"),
            "write hidden in [model]: \"mlp\" has hidden = [128, 64], and \"sequential\" layers");
  EXPECT_EQ(word_for_other("option", "outputDim", {"classes"}), "classes");
  EXPECT_EQ(word_for_other("value", "MaxPooling2D", {"dense", "max_pool"}), "max_pool");
}

TEST(OtherNames, PluginsOfOtherProgramsLeadToOurs) {
  const std::vector<std::string> known = {"early_stopping", "stop_at_step", "nan_tensor"};
  EXPECT_EQ(help_for_other_plugin("hook", "EarlyStopping", known), "did you mean \"early_stopping\"?");
  EXPECT_EQ(help_for_other_plugin("hook", "StopAtStepHook", known), "did you mean \"stop_at_step\"?");
  EXPECT_EQ(help_for_other_plugin("hook", "TerminateOnNaN", known), "write \"nan_tensor\"");
  EXPECT_EQ(help_for_other_plugin("hook", "ModelCheckpoint", known),
            "write [checkpoint]: checkpoints are written by themselves, that section sets when and how many");
  EXPECT_EQ(help_for_other_plugin("schedule", "CosineAnnealingLR", {}), "write \"cosine_decay\"");
  EXPECT_EQ(help_for_other_plugin("schedule", "linear", {}), "write \"polynomial_decay\"");
  EXPECT_EQ(help_for_other_plugin("schedule", "constant_with_warmup", {}), "write \"constant\": with warmup_steps");
  EXPECT_EQ(help_for_other_plugin("hook", "BasePredictionWriter", {}), "belay predict writes predictions");
  EXPECT_EQ(help_for_other_plugin("model", "EarlyStopping", {}), "");
}

TEST(OtherNames, AnUnknownKeyThatOthersHaveIsExplained) {
  EXPECT_EQ(errors_of("[run]\nlr = 0.1"),
            "train.toml:2:1: error[B1003]: unknown key \"lr\" in [run]\n  lr = 0.1\n  ^~\n"
            "  help: write learning_rate in [optimizer]\n");
  EXPECT_EQ(errors_of("[trainer]\nmax_steps = 5"),
            "train.toml:1:2: error[B1004]: unknown section [trainer]\n  [trainer]\n   ^~~~~~~\n"
            "  help: write [run]: max_steps, dir, seed and threads\n");
}

}  // namespace
}  // namespace belay::runtime
