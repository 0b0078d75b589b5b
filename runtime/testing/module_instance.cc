// SPDX-License-Identifier: Apache-2.0
#include "runtime/testing/module_instance.h"

#include "runtime/graph/graph_service.h"
#include "runtime/platform/clock.h"

namespace belay::runtime {
namespace {

OptionValue value_of(const belay::testing::OptionValue& v) {
  switch (v.type) {
    case BELAY_VALUE_BOOL: return v.integers.at(0) != 0;
    case BELAY_VALUE_INT: return v.integers.at(0);
    case BELAY_VALUE_FLOAT: return v.floats.at(0);
    case BELAY_VALUE_TEXT: return v.texts.at(0);
    case BELAY_VALUE_LIST + BELAY_VALUE_BOOL: return std::vector<bool>(v.integers.begin(), v.integers.end());
    case BELAY_VALUE_LIST + BELAY_VALUE_INT: return v.integers;
    case BELAY_VALUE_LIST + BELAY_VALUE_FLOAT: return v.floats;
    default: return v.texts;
  }
}

const RegisteredPlugin& only_plugin(const Registry& plugins, PluginKind kind, const std::string& name) {
  const RegisteredPlugin* found = nullptr;
  for (const RegisteredPlugin& p : plugins.plugins()) {
    if (p.info.kind != kind || (!name.empty() && p.info.name != name)) continue;
    if (found != nullptr)
      fail(Code::kInvalidArgument,
           std::string("the module has several plugins of the kind ") + kind_name(kind) + "; the driver needs a name");
    found = &p;
  }
  if (found == nullptr) fail(Code::kNotFound, std::string("the module has no ") + kind_name(kind) + " '" + name + "'");
  return *found;
}

}  // namespace

ModuleInstance::ModuleInstance(PluginKind kind, const belay_module& module, const std::string& plugin,
                               const belay::testing::OptionValues& options)
    : log_(make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock())),
      services_(*log_, system_clock(), "", 42) {
  services_.add("graph", graph_api());
  plugins_.add_linked(&module);
  const RegisteredPlugin& found = only_plugin(plugins_, kind, plugin);
  ResolvedPlugin use;
  use.info = found.info;
  use.instance_name = found.info.name;
  for (const belay::testing::OptionValue& v : options.all()) use.options.add(v.name, value_of(v), OptionType::kString);
  instance_ = &instances_.create(found, use, services_, monitor_);
}

}  // namespace belay::runtime
