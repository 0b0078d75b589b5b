// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/registry.h"

#include <gtest/gtest.h>

#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

extern "C" const belay_module belay_module_loader_sample;

namespace belay::runtime {
namespace {

class RegistryTest : public ::testing::Test {
 protected:
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry registry_;
};

TEST_F(RegistryTest, HasTheLinkedInPluginsAndTheirTables) {
  registry_.add_linked(&belay_module_loader_sample);
  const RegisteredPlugin* hook = registry_.find(PluginKind::kHook, "sample_hook");
  ASSERT_NE(hook, nullptr);
  EXPECT_EQ(hook->info.doc, "Has an option of each type");
  EXPECT_EQ(hook->file, "");
  EXPECT_EQ(hook->label(), "hook \"sample_hook\" (linked in, 1.2.0)");
  EXPECT_EQ(hook->label("losses"), "hook \"losses\" of \"sample_hook\" (linked in, 1.2.0)");
  EXPECT_EQ(hook->label("sample_hook", {"conf/train.toml", 14, 3}),
            "hook \"sample_hook\" (linked in, 1.2.0, train.toml:14)");
  EXPECT_EQ(registry_.find(PluginKind::kSaver, "sample_hook"), nullptr);
  EXPECT_EQ(registry_.plugins().size(), 5u);
}

TEST_F(RegistryTest, AbsentSlotsOfAHookDoNothing) {
  registry_.add_linked(&belay_module_loader_sample);
  const auto& table = std::get<belay_hook_api>(registry_.find(PluginKind::kHook, "sample_hook")->table);
  ASSERT_NE(table.before_run, nullptr);
  EXPECT_EQ(table.before_run(nullptr, nullptr, nullptr, nullptr), BELAY_OK);
}

TEST_F(RegistryTest, ASlotThatATableEndsInTheMiddleOfIsAbsent) {
  belay_hook_api given = std::get<belay_hook_api>(adopt_table(PluginKind::kHook, nullptr));
  given.begin = [](void*, belay_graph*, belay_status*) -> std::int32_t { return BELAY_INTERNAL; };
  given.struct_size = offsetof(belay_hook_api, begin) + sizeof(given.begin);
  EXPECT_EQ(std::get<belay_hook_api>(adopt_table(PluginKind::kHook, &given)).begin(nullptr, nullptr, nullptr),
            BELAY_INTERNAL);
  --given.struct_size;
  EXPECT_EQ(std::get<belay_hook_api>(adopt_table(PluginKind::kHook, &given)).begin(nullptr, nullptr, nullptr),
            BELAY_OK);
}

TEST_F(RegistryTest, AnInputWithoutSizeCannotSay) {
  registry_.add_linked(&belay_module_loader_sample);
  const auto& table = std::get<belay_input_api>(registry_.find(PluginKind::kInput, "sample_input")->table);
  std::int64_t examples = 0;
  EXPECT_EQ(table.size(nullptr, &examples, nullptr), BELAY_OK);
  EXPECT_EQ(examples, -1);
}

TEST_F(RegistryTest, LinkedInWinsOverLoadedAndEachIsFoundByItsFile) {
  const LoadedLibrary& library = loader_.load(sample_file());
  registry_.add_loaded(library);
  registry_.add_loaded(library);
  EXPECT_EQ(registry_.plugins().size(), 5u);
  EXPECT_EQ(registry_.find(PluginKind::kHook, "sample_hook")->file, sample_file());
  registry_.add_linked(&belay_module_loader_sample);
  EXPECT_EQ(registry_.find(PluginKind::kHook, "sample_hook")->file, "");
  EXPECT_EQ(registry_.find(PluginKind::kHook, "sample_hook", sample_file())->label(),
            "hook \"sample_hook\" (loader_sample.so 1.2.0)");
  EXPECT_EQ(registry_.find(PluginKind::kHook, "sample_hook", sample_file())->label("x", {"/a/train\n.toml", 14, 1}),
            "hook \"x\" of \"sample_hook\" (loader_sample.so 1.2.0, train\\n.toml:14)");
}

TEST_F(RegistryTest, TheSameLinkedInModuleTwiceIsAnErrorAndAddsNothing) {
  registry_.add_linked(&belay_module_loader_sample);
  EXPECT_EQ(load_error_of([&] { registry_.add_linked(&belay_module_loader_sample); }),
            "[B2024] duplicate: 'linked-in module' offers the hook \"sample_hook\", which another one offers\n"
            "  help: add each module once");
  EXPECT_EQ(registry_.plugins().size(), 5u);
}

TEST_F(RegistryTest, ABadLinkedInModuleIsRefusedWhole) {
  const auto refused = [&](const belay_module& module) {
    return load_error_of([&] { registry_.add_linked(&module); });
  };
  EXPECT_EQ(load_error_of([&] { registry_.add_linked(nullptr); }),
            "[B2021] bad_module: 'linked-in module' is null\n  help: give a module made by BELAY_MODULE");
  belay_module module = belay_module_loader_sample;
  module.magic = 1;
  EXPECT_EQ(refused(module),
            "[B2021] bad_module: 'linked-in module' has a bad belay_module_v0: magic is 0x0000000000000001, must be "
            "0x003079616c6562b3\n  help: fill the module as abi.h describes, or let BELAY_MODULE do it");
  module = belay_module_loader_sample;
  const std::string later = replaced({module.note, module.note_size}, "\"abi\":[0,4]", "\"abi\":[0,5]");
  module.note = later.data();
  EXPECT_EQ(refused(module),
            "[B2014] abi_minor: 'linked-in module' is compiled against another abi.h than this program's runtime\n"
            "  help: compile it with the headers of the runtime that it is linked to");
  module.note = "nothing";
  module.note_size = 7;
  EXPECT_EQ(refused(module).rfind("[B2012] no_note: 'linked-in module' has a corrupt note: it is no JSON", 0), 0u);
  EXPECT_TRUE(registry_.plugins().empty());
}

}  // namespace
}  // namespace belay::runtime
