// SPDX-License-Identifier: Apache-2.0
// Finds a plugin's table for a test: in the module that is linked into the test, or in the library file. The same test
// works with both.
//
//   extern "C" const belay_module belay_module_digits;                        // linked in (target digits_linked)
//   const belay_input_api* table = find_table<belay_input_api>(belay_module_digits, "digits");
//
//   const belay_module& module = open_module("build/plugins/digits.so");      // from the file
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

#include "belay/module.h"

namespace belay {
inline namespace v0 {
namespace detail {
template <class Api>
struct PluginKind;
template <>
struct PluginKind<belay_hook_api> : std::integral_constant<std::int32_t, BELAY_KIND_HOOK> {};
template <>
struct PluginKind<belay_saver_api> : std::integral_constant<std::int32_t, BELAY_KIND_SAVER> {};
template <>
struct PluginKind<belay_optimizer_api> : std::integral_constant<std::int32_t, BELAY_KIND_OPTIMIZER> {};
template <>
struct PluginKind<belay_schedule_api> : std::integral_constant<std::int32_t, BELAY_KIND_SCHEDULE> {};
template <>
struct PluginKind<belay_init_fn_api> : std::integral_constant<std::int32_t, BELAY_KIND_INIT_FN> {};
template <>
struct PluginKind<belay_model_api> : std::integral_constant<std::int32_t, BELAY_KIND_MODEL> {};
template <>
struct PluginKind<belay_input_api> : std::integral_constant<std::int32_t, BELAY_KIND_INPUT> {};
template <>
struct PluginKind<belay_op_api> : std::integral_constant<std::int32_t, BELAY_KIND_OP> {};
template <>
struct PluginKind<belay_exporter_api> : std::integral_constant<std::int32_t, BELAY_KIND_EXPORTER> {};
template <>
struct PluginKind<belay_cluster_api> : std::integral_constant<std::int32_t, BELAY_KIND_CLUSTER> {};
}  // namespace detail

namespace testing {

// The table of the plugin of that kind and name; an empty name takes the only plugin of the kind.
template <class Api>
const Api* find_table(const belay_module& module, std::string_view name = {}) {
  const Api* found = nullptr;
  for (std::uint64_t i = 0; i < module.n_plugins; ++i) {
    const belay_plugin& plugin = *module.plugins[i];
    if (plugin.kind != detail::PluginKind<Api>::value || (!name.empty() && name != plugin.name)) continue;
    if (found != nullptr) fail(Code::kInvalidArgument, "the module has several plugins of this kind; give a name");
    found = static_cast<const Api*>(plugin.table);
  }
  if (found == nullptr) fail(Code::kNotFound, "the module has no plugin '" + std::string(name) + "' of this kind");
  return found;
}

// Loads a plugin library for the rest of the process.
inline const belay_module& open_module(std::string_view file) {
  void* library = dlopen(std::string(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(Code::kNotFound, std::string("cannot load the plugin: ") + dlerror());
  const void* module = dlsym(library, BELAY_MODULE_SYMBOL);
  if (module == nullptr) fail(Code::kNotFound, std::string(file) + " exports no " + BELAY_MODULE_SYMBOL);
  return *static_cast<const belay_module*>(module);
}

// The module under test: the linked module, or a library file from the environment variable BELAY_PLUGIN_UNDER_TEST. So
// one program tests both (belay_add_plugin_test in CMake runs it twice). The variable holds one file, or several with
// colons between them. If there are several, it takes the file whose first plugin has the linked module's kind and
// name.
inline const belay_module& module_under_test(const belay_module& linked) {
  const char* variable = std::getenv("BELAY_PLUGIN_UNDER_TEST");
  if (variable == nullptr || *variable == '\0') return linked;
  const std::string files = variable;
  if (files.find(':') == files.npos) return open_module(files);
  for (std::size_t begin = 0, end = 0; end != files.npos; begin = end + 1) {
    end = files.find(':', begin);
    const std::string file = files.substr(begin, end == files.npos ? end : end - begin);
    const belay_module& module = open_module(file);
    const belay_plugin &found = *module.plugins[0], &wanted = *linked.plugins[0];
    if (found.kind == wanted.kind && found.name == std::string_view(wanted.name)) return module;
  }
  fail(Code::kNotFound,
       "no file of BELAY_PLUGIN_UNDER_TEST has the plugin '" + std::string(linked.plugins[0]->name) + "'");
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
