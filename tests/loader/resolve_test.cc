// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/manifest/parse.h"
#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

extern "C" const belay_module belay_module_loader_sample;

namespace belay::runtime {
namespace {

class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() : file_(folder_.write("sample.so", bytes_of(sample_file()))) {}

  // Returns the mistake of the manifest, with its folder written as DIR.
  std::string resolve(const std::string& text) {
    Diagnostics problems;
    const Environment environment = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
    const auto manifest = parse_manifest(ManifestSource{folder_.file("train.toml"), text}, {}, environment, problems);
    if (!manifest) return problems.text();
    SearchPath path;
    path.directories.push_back({folder_.path(), "a test"});
    const PluginSearch search(path, policy_, cpu_);
    PluginResolver resolver(registry_, search, policy_, cpu_, {{folder_.path()}, environment}, problems);
    plugins_ = resolver.resolve(*manifest);
    plugin_failed_ = resolver.plugin_failed();
    return replaced(problems.text(), folder_.path(), "DIR");
  }

  belay::testing::TemporaryFolder folder_;
  const std::string file_;
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Registry registry_;
  ResolvedPlugins plugins_;
  bool plugin_failed_ = false;
};

const char kGood[] = R"([input.train]
plugin = "sample_input"
[input.eval]
plugin = "sample_input"
[model]
plugin = "sample_model"
[scaffold]
saver = { plugin = "sample_saver" }
init_fn = [{ plugin = "sample_init_fn" }, { plugin = "sample_init_fn", name = "second" }]
[[hooks]]
plugin = "sample_hook"
tensors = ["loss"]
[[hooks]]
file = "sample.so"
name = "sample_hook_1"
on_error = "disable"
tensors = ["loss"]
[[hooks]]
file = "./sample.so"
plugin = "sample_hook"
tensors = []
max = 3
)";

TEST_F(ResolveTest, FindsEveryPluginOfAManifestAndNamesItsInstances) {
  ASSERT_EQ(resolve(kGood), "");
  EXPECT_EQ(plugins_.inputs.at("train").instance_name, "train");
  EXPECT_EQ(plugins_.inputs.at("eval").instance_name, "eval");
  EXPECT_EQ(plugins_.model->instance_name, "sample_model");
  EXPECT_EQ(plugins_.model->file, file_);
  EXPECT_EQ(plugins_.saver->info.kind, PluginKind::kSaver);
  ASSERT_EQ(plugins_.init_fns.size(), 2u);
  EXPECT_EQ(plugins_.init_fns[0].instance_name, "sample_init_fn");
  EXPECT_EQ(plugins_.init_fns[1].instance_name, "second");
  ASSERT_EQ(plugins_.hooks.size(), 3u);
  EXPECT_EQ(plugins_.hooks[0].instance_name, "sample_hook");
  EXPECT_EQ(plugins_.hooks[1].instance_name, "sample_hook_1");
  EXPECT_EQ(plugins_.hooks[1].on_error, OnHookError::kDisable);
  EXPECT_EQ(plugins_.hooks[2].instance_name, "sample_hook_2");
  EXPECT_EQ(plugins_.hooks[2].options.size(), 2u);
  EXPECT_EQ(plugins_.hooks[2].at.line, 18);
  EXPECT_FALSE(plugin_failed_);
}

TEST_F(ResolveTest, LoadsAndRegistersEachLibraryOnce) {
  ASSERT_EQ(resolve(kGood), "");
  Loader loader(policy_, cpu_, "");
  const RegisteredPlugin& model = load_plugin(*plugins_.model, loader, registry_);
  EXPECT_EQ(model.info.name, "sample_model");
  EXPECT_EQ(&load_plugin(plugins_.hooks[0], loader, registry_), &load_plugin(plugins_.hooks[2], loader, registry_));
  EXPECT_EQ(registry_.plugins().size(), 5u);
}

TEST_F(ResolveTest, APluginOfAnotherPathToTheSameFileIsTheSame) {
  std::filesystem::create_symlink("sample.so", folder_.file("link.so"));
  ASSERT_EQ(resolve(std::string(kGood) + "[[hooks]]\nfile = \"link.so\"\ntensors = []\n"), "");
  Loader loader(policy_, cpu_, "");
  EXPECT_EQ(&load_plugin(plugins_.hooks[0], loader, registry_), &load_plugin(plugins_.hooks[3], loader, registry_));
}

TEST_F(ResolveTest, LinkedInPluginsComeFirst) {
  registry_.add_linked(&belay_module_loader_sample);
  ASSERT_EQ(resolve(kGood), "");
  EXPECT_EQ(plugins_.model->file, "");
  EXPECT_EQ(plugins_.hooks[1].file, file_);
  Loader loader(policy_, cpu_, "");
  EXPECT_EQ(load_plugin(*plugins_.model, loader, registry_).file, "");
  EXPECT_EQ(load_plugin(plugins_.hooks[1], loader, registry_).file, file_);
}

TEST_F(ResolveTest, EverythingWrongIsToldAtOnceWithItsPlace) {
  folder_.write("empty.so", "");
  EXPECT_EQ(resolve(R"([input.train]
plugin = "sampl_input"
[model]
plugin = "sample_model"
depth = 3
[scaffold]
saver = { plugin = "sample_model" }
[[hooks]]
plugin = "sample_hook"
tensors = ["loss"]
max = -1
[[hooks]]
file = "empty.so"
)"),
            R"(DIR/train.toml:2:10: error[B2025]: not_found: input "sampl_input" is not found in DIR
  plugin = "sampl_input"
           ^~~~~~~~~~~~~
  help: did you mean "sample_input"? set [plugins] path, BELAY_PLUGIN_PATH or file = "..."; `belay plugins` lists what exists
DIR/train.toml:5:1: error[B2030]: "depth" is not an option of model "sample_model"
  depth = 3
  ^~~~~
  help: it has no options
DIR/train.toml:7:20: error[B2025]: not_found: saver "sample_model" is not found, but there is a plugin of that name of the kind model
  saver = { plugin = "sample_model" }
                     ^~~~~~~~~~~~~~
  help: name it in the section for the kind model
DIR/train.toml:11:7: error[B2033]: "max" is -1, must be at least 0
  max = -1
        ^~
  help: max: stop above this
DIR/train.toml:13:8: error[B2005]: not_elf: 'DIR/empty.so' is too short for a shared library: 0 bytes
  file = "empty.so"
         ^~~~~~~~~~
  help: give the .so file of a plugin
)");
  EXPECT_TRUE(plugin_failed_);
}

TEST_F(ResolveTest, WhereThereIsNoPluginAtAllThatIsOneError) {
  std::filesystem::remove(file_);
  std::string manifest = kGood;
  manifest.resize(manifest.find("[[hooks]]\nfile"));
  EXPECT_EQ(resolve(manifest), R"(DIR/train.toml:4:10: error[B2036]: there are no plugins in DIR
  plugin = "sample_input"
           ^~~~~~~~~~~~~~
  help: install Belay's, or set BELAY_PLUGIN_PATH or [plugins] path to the folder that has them; `belay plugins` lists what is found
)");
  EXPECT_TRUE(plugin_failed_);
}

TEST_F(ResolveTest, AnOptionAloneIsNoPluginFailure) {
  EXPECT_NE(resolve(replaced(kGood, "max = 3", "max = -3")), "");
  EXPECT_FALSE(plugin_failed_);
}

TEST_F(ResolveTest, AFileMustOfferTheKindAndTheNameOnce) {
  const std::string head = "[input.train]\nplugin = \"sample_input\"\n[model]\nplugin = \"sample_model\"\n";
  const auto hook = [&](const std::string& text) {
    const std::string all = resolve(head + "[[hooks]]\n" + text);
    const std::size_t at = all.find("error[");
    return at == std::string::npos ? all : all.substr(at);
  };
  EXPECT_EQ(hook("file = \"sample.so\"\nplugin = \"sample_hok\"\n"),
            "error[B2026]: not_found: 'DIR/sample.so' offers no hook \"sample_hok\"\n"
            "  plugin = \"sample_hok\"\n           ^~~~~~~~~~~~\n"
            "  help: it offers hook \"sample_hook\", saver \"sample_saver\", init_fn \"sample_init_fn\", model "
            "\"sample_model\", input \"sample_input\" (did you mean \"sample_hook\"?)\n");
  folder_.write("pair.so", bytes_of(BELAY_LOADER_PAIR));
  EXPECT_EQ(
      hook("file = \"pair.so\"\n"),
      "error[B2027]: duplicate: 'DIR/pair.so' offers more than one hook\n  file = \"pair.so\"\n         ^~~~~~~~~\n"
      "  help: pick one with plugin = \"first\"; it offers hook \"first\", hook \"second\"\n");
  EXPECT_EQ(hook("file = \"pair.so\"\nplugin = \"second\"\n"), "");
  EXPECT_EQ(plugins_.hooks.at(0).info.name, "second");
  EXPECT_EQ(hook("plugin = \"first\"\n[scaffold]\nsaver = { file = \"pair.so\" }\n"),
            "error[B2026]: not_found: 'DIR/pair.so' offers no saver\n  saver = { file = \"pair.so\" }\n"
            "                   ^~~~~~~~~\n"
            "  help: it offers hook \"first\", hook \"second\"\n");
  EXPECT_EQ(hook("file = \"none.so\"\n"),
            "error[B2001]: not_found: 'DIR/none.so' does not exist\n  file = \"none.so\"\n         ^~~~~~~~~\n"
            "  help: check the path; in a manifest it is relative to the manifest\n");
}

TEST_F(ResolveTest, OperationsAreFoundByNameAndByTheFileOfAll) {
  folder_.write("ops.so", bytes_of(BELAY_LOADER_OPS));
  ASSERT_EQ(resolve(std::string(kGood) + "[[ops]]\nplugin = \"second_op\"\n[[ops]]\nfile = \"ops.so\"\n"), "");
  ASSERT_EQ(plugins_.ops.size(), 2u);
  EXPECT_EQ(plugins_.ops[0].info.name, "second_op");
  EXPECT_EQ(plugins_.ops[0].instance_name, "second_op");
  EXPECT_EQ(plugins_.ops[0].at.line, 23);
  EXPECT_EQ(plugins_.ops[1].info.name, "first_op") << "the file is enough: its attribute is no option, though required";
  Loader loader(policy_, cpu_, "");
  load_plugin(plugins_.ops[1], loader, registry_);
  EXPECT_NE(registry_.find(PluginKind::kOp, "first_op"), nullptr);
  EXPECT_NE(registry_.find(PluginKind::kOp, "second_op"), nullptr) << "all of the library are there";
}

TEST_F(ResolveTest, AnOperationHasNothingToSetInAManifest) {
  folder_.write("ops.so", bytes_of(BELAY_LOADER_OPS));
  const std::string head = "[input.train]\nplugin = \"sample_input\"\n[model]\nplugin = \"sample_model\"\n[[ops]]\n";
  const std::string help = "  help: [[ops]] has plugin and file; a model gives the attributes when it makes a node\n";
  EXPECT_EQ(resolve(head + "plugin = \"first_op\"\nbeta = 2\n"),
            "DIR/train.toml:7:1: error[B2037]: \"beta\" cannot be set for an operation\n  beta = 2\n  ^~~~\n" + help);
  EXPECT_EQ(resolve(head + "plugin = \"first_op\"\nname = \"x\"\n"),
            "DIR/train.toml:5:1: error[B2037]: \"name\" cannot be set for an operation\n  [[ops]]\n  ^~~~~~~\n" + help);
}

TEST_F(ResolveTest, TwoInstancesOfOneNameAreAnError) {
  const std::string text =
      resolve(replaced(kGood, "plugin = \"sample_init_fn\" }", "plugin = \"sample_init_fn\", name = \"second\" }"));
  EXPECT_NE(text.find("error[B2038]: two plugins of the kind init_fn are named \"second\""), std::string::npos) << text;
}

TEST_F(ResolveTest, TwoHooksOfOneNameAreOneError) {
  const std::string text = resolve(replaced(kGood, "max = 3", "name = \"sample_hook_1\""));
  EXPECT_NE(text.find("error[B1025]: hooks.2 has the name \"sample_hook_1\" of an earlier hook"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("B2038"), std::string::npos) << text;
}

// An entry from a program has no manifest, so its path cannot be relative to a manifest's folder.
TEST_F(ResolveTest, T_125_APathThatAProgramGivesIsRelativeToTheCurrentDirectory) {
  registry_.add_linked(&belay_module_loader_sample);
  const auto target_of = [&](const std::string& path) {
    PluginUse use;
    use.plugin = "sample_hook";
    use.options.push_back({"tensors", OptionValue(std::vector<std::string>{"loss"}), {}, {}});
    use.options.push_back({"target", OptionValue(path), {}, {}});
    const ResolvedPlugin resolved = resolve_linked(PluginKind::kHook, use, registry_);
    for (std::uint64_t i = 0; i < resolved.options.size(); ++i)
      if (const belay_named_value& v = resolved.options.data()[i]; belay::detail::view(v.name) == "target")
        return std::get<std::string>(option_value(v.value));
    return std::string("there is no target");
  };
  const std::string current = std::filesystem::current_path();
  EXPECT_EQ(target_of("data/rows.csv"), current + "/data/rows.csv");
  EXPECT_EQ(target_of("../rows.csv"), std::filesystem::path(current).parent_path() / "rows.csv");
  EXPECT_EQ(target_of("/data/rows.csv"), "/data/rows.csv");
  ::setenv("ROWS_OF_A_PROGRAM", "/elsewhere", 1);
  EXPECT_EQ(target_of("${ROWS_OF_A_PROGRAM}/rows.csv"), "/elsewhere/rows.csv");
}

// Each was compared with all before it, and each name tried from 1 on: 18 s for these.
TEST_F(ResolveTest, T_171_TwentyThousandHooksOfOnePluginAreNamedAndFound) {
  constexpr std::size_t kHooks = 20'000;
  std::string text = kGood;
  for (std::size_t i = 3; i < kHooks; ++i) text += "[[hooks]]\nplugin = \"sample_hook\"\ntensors = []\n";
  ASSERT_EQ(resolve(text), "");
  ASSERT_EQ(plugins_.hooks.size(), kHooks);
  EXPECT_EQ(plugins_.hooks[2].instance_name, "sample_hook_2");
  EXPECT_EQ(plugins_.hooks.back().instance_name, "sample_hook_19999");
  const PluginsByPlace by_place(plugins_.hooks);
  PluginUse use;
  for (const ResolvedPlugin& hook : plugins_.hooks) {
    use.at = hook.at;
    ASSERT_EQ(by_place.find(use), &hook) << hook.instance_name;
  }
  ++use.at.column;
  EXPECT_EQ(by_place.find(use), nullptr);
}

}  // namespace
}  // namespace belay::runtime
