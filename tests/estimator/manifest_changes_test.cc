// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/manifest_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/manifest/parse.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const char* const kModel = "[model]\nplugin = \"m\"\n";

// With a model and an input, if the text has none.
Manifest parsed(std::string text) {
  if (text.find("model") == std::string::npos) text += std::string("\n") + kModel;
  if (text.find("input.train") == std::string::npos) text += "\n[input.train]\nplugin = \"i\"\n";
  Diagnostics problems;
  const Environment none = [](const std::string&) { return std::nullopt; };
  std::optional<Manifest> manifest = parse_manifest(ManifestSource{"m.toml", text}, {}, none, problems);
  EXPECT_TRUE(problems.empty()) << problems.text();
  return manifest.value_or(Manifest{});
}

OptionInfo option(const std::string& name, OptionType type, bool watching = false) {
  OptionInfo info;
  info.name = name;
  info.type = type;
  info.watching = watching;
  return info;
}

// The plugins of a manifest, all with these options.
ResolvedPlugins plugins_of(const Manifest& manifest) {
  PluginInfo info;
  info.options = {option("rate", OptionType::kFloat), option("note", OptionType::kString, true),
                  option("layers", OptionType::kTable)};
  info.options[0].default_value = 0.5;
  OptionInfo name = option("layers[].name", OptionType::kString, true);
  info.nested = {name};
  const auto resolved = [&](const PluginUse& use) {
    ResolvedPlugin plugin;
    plugin.info = info;
    plugin.at = use.at;
    return plugin;
  };
  ResolvedPlugins all;
  for (const auto& [section, input] : manifest.inputs) all.inputs.emplace(section, resolved(input));
  if (manifest.model) all.model = resolved(*manifest.model);
  for (const PluginUse& hook : manifest.hooks) all.hooks.push_back(resolved(hook));
  return all;
}

// A hook that only watches, and no other.
const PluginInfo* known_hook(const std::string& name) {
  static const PluginInfo watcher;
  return name == "watcher" ? &watcher : nullptr;
}

// "key was A, is B", with a ! if it changes numbers.
std::vector<std::string> changes(const std::string& before, const std::string& now) {
  const Manifest is = parsed(now);
  std::vector<std::string> texts;
  for (const ManifestChange& c : changes_between(parsed(before), is, plugins_of(is), known_hook))
    texts.push_back(change_text(c) + (c.changes_numbers ? " !" : ""));
  return texts;
}

TEST(ManifestChanges, AreNoneOfTheSameManifestWrittenOtherwise) {
  EXPECT_THAT(changes("model = { plugin = 'm', rate = 1 }", "[model]\nrate = 1.0 # the same\nplugin = \"m\"\n"),
              IsEmpty());
}

TEST(ManifestChanges, T_103_AnotherOrderOfKeysInATableIsNone) {
  const std::string input = "[input.train]\nplugin = \"i\"\n[input.train.features]\n";
  const std::string a = "a = { dtype = \"float32\", shape = [2] }\n", b = "b = { dtype = \"int64\" }\n";
  EXPECT_THAT(changes(kModel + input + a + b, kModel + input + b + "a = { shape = [2], dtype = \"float32\" }\n"),
              IsEmpty());
}

TEST(ManifestChanges, ADefaultThatIsWrittenOutIsNone) {
  EXPECT_THAT(changes(kModel, std::string(kModel) + "rate = 0.5\n"), IsEmpty());
  EXPECT_THAT(changes(kModel, std::string(kModel) + "rate = 0.25\n"), ElementsAre("model.rate was 0.5, is 0.25 !"));
}

TEST(ManifestChanges, AWatchingOptionChangesNoNumber) {
  EXPECT_THAT(changes(kModel, std::string(kModel) + "note = \"x\"\n"), ElementsAre("model.note was not set, is \"x\""));
  EXPECT_THAT(changes(std::string(kModel) + "layers = [{ name = \"a\", units = 3 }]\n",
                      std::string(kModel) + "layers = [{ name = \"b\", units = 4 }]\n"),
              ElementsAre("model.layers.0.name was \"a\", is \"b\"", "model.layers.0.units was 3, is 4 !"));
}

TEST(ManifestChanges, SeedAndPrecisionCountAndTheOtherKeysOfTheirSectionsDoNot) {
  EXPECT_THAT(changes("", "[run]\nseed = 1\nmax_steps = 3\n[session]\nprecision = \"bf16\"\n"),
              ElementsAre("run.max_steps was not set, is 3", "run.seed was 42, is 1 !",
                          "session.precision was \"float32\", is \"bf16\" !"));
}

TEST(ManifestChanges, TheEvaluationsInputDoesNotCount) {
  const std::string both = "[input.train]\nplugin = \"a\"\nrate = 1\n[input.eval]\nplugin = \"a\"\nrate = 1\n";
  const std::string other =
      "[input.train]\nplugin = \"a\"\nrate = 2\nprefetch = 3\n[input.eval]\nplugin = \"a\"\nrate = 2\n";
  EXPECT_THAT(changes(both, other), ElementsAre("input.eval.rate was 1.0, is 2.0", "input.train.prefetch was 2, is 3",
                                                "input.train.rate was 1.0, is 2.0 !"));
}

TEST(ManifestChanges, AHookIsKnownByItsNameNotByItsPlace) {
  const std::string two = "[[hooks]]\nplugin = \"h\"\nrate = 1\n[[hooks]]\nplugin = \"g\"\n";
  const std::string turned = "[[hooks]]\nplugin = \"g\"\n[[hooks]]\nplugin = \"h\"\nrate = 1\n";
  EXPECT_THAT(changes(two, turned), IsEmpty());
  EXPECT_THAT(changes(two, "[[hooks]]\nplugin = \"h\"\nrate = 2\n"),
              ElementsAre("hooks.g was there, is not there !", "hooks.h.rate was 1.0, is 2.0 !"));
}

TEST(ManifestChanges, AHookThatOnlyWatchesMayComeAndGo) {
  EXPECT_THAT(changes("[[hooks]]\nplugin = \"watcher\"\n", ""), ElementsAre("hooks.watcher was there, is not there"));
}

TEST(ManifestChanges, LeadToTheirLine) {
  const Manifest now = parsed("[model]\nplugin = \"m\"\nrate = 3.0\n");
  const std::vector<ManifestChange> found = changes_between(parsed(kModel), now, plugins_of(now), known_hook);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at.line, 3);
}

}  // namespace
}  // namespace belay::runtime
