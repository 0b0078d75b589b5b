// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/plugin_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "belay/testing/error_of.h"
#include "belay/testing/hook_driver.h"

extern "C" const belay_module belay_module_sdk_test_plugins;

namespace {

using namespace belay::testing;

TEST(PluginLibrary, FindsPluginsByKindAndName) {
  const belay_module& module = belay_module_sdk_test_plugins;
  EXPECT_NE(find_table<belay_hook_api>(module, "loss_ceiling"), find_table<belay_hook_api>(module, "quiet"));
  EXPECT_NE(find_table<belay_init_fn_api>(module), nullptr);
  EXPECT_EQ(error_of([&] { find_table<belay_hook_api>(module); }),
            "INVALID_ARGUMENT: the module has several plugins of this kind; give a name");
  EXPECT_EQ(error_of([&] { find_table<belay_saver_api>(module, "quiet"); }),
            "NOT_FOUND: the module has no plugin 'quiet' of this kind");
}

// The same plugin, linked in and from its file.
TEST(PluginLibrary, ATestRunsBothWays) {
  const belay_module& opened = open_module(SDK_TEST_PLUGINS_FILE);
  EXPECT_NE(&opened, &belay_module_sdk_test_plugins);
  EXPECT_EQ(std::string(opened.note, opened.note_size),
            std::string(belay_module_sdk_test_plugins.note, belay_module_sdk_test_plugins.note_size));
  for (const belay_module* module : {&belay_module_sdk_test_plugins, &opened}) {
    EXPECT_EQ(module->magic, BELAY_MODULE_MAGIC);
    HookDriver hook(*module, {{"max", 2.0}}, {.plugin = "loss_ceiling"});
    hook.tensor<float>("loss");
    hook.begin();
    hook.create_session();
    EXPECT_FALSE(hook.step({{"loss", 1.5f}}).stop_asked);
    EXPECT_EQ(hook.step({{"loss", 2.5f}}).stop_reason, "loss above max");
    hook.end();
    hook.destroy();
  }
}

TEST(PluginLibrary, AnErrorInAnOpenedLibraryIsCaughtThere) {
  HookDriver hook(open_module(SDK_TEST_PLUGINS_FILE), {{"tensor", "los"}}, {.plugin = "loss_ceiling"});
  hook.tensor<float>("loss");
  EXPECT_EQ(error_of([&] { hook.begin(); }), "NOT_FOUND: the graph has no 'los'; did you mean 'loss'?");
}

TEST(PluginLibrary, AFileThatIsNoPluginIsAnError) {
  EXPECT_EQ(
      error_of([] { open_module("/no/such/file.so"); }),
      "NOT_FOUND: cannot load the plugin: /no/such/file.so: cannot open shared object file: No such file or directory");
  EXPECT_EQ(error_of([] { open_module("libm.so.6"); }), "NOT_FOUND: libm.so.6 exports no belay_module_v0");
}

TEST(PluginLibrary, TheEnvironmentChoosesTheModuleUnderTest) {
  const char* const kVariable = "BELAY_PLUGIN_UNDER_TEST";
  ::unsetenv(kVariable);
  EXPECT_EQ(&module_under_test(belay_module_sdk_test_plugins), &belay_module_sdk_test_plugins);
  ::setenv(kVariable, SDK_TEST_PLUGINS_FILE, 1);
  EXPECT_EQ(&module_under_test(belay_module_sdk_test_plugins), &open_module(SDK_TEST_PLUGINS_FILE));
  ::unsetenv(kVariable);
}

}  // namespace
