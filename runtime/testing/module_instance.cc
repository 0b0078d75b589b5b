// SPDX-License-Identifier: Apache-2.0
#include "runtime/testing/module_instance.h"

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/graph/graph_service.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {
namespace {

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
  services_.add("graph", graph_service());
  services_.add("files", files_service());
  services_.add("saver", saver_service());
  plugins_.add_linked(&module);
  const RegisteredPlugin& found = only_plugin(plugins_, kind, plugin);
  ResolvedPlugin use;
  use.info = found.info;
  use.instance_name = found.info.name;
  const detail::RawOptions raw(options.all());
  for (std::uint64_t i = 0; i < raw.size(); ++i)
    use.options.add(options.all()[i].name, option_value(raw.data()[i].value), OptionType::kString);
  instance_ = &instances_.create(found, use, services_, monitor_);
}

}  // namespace belay::runtime
