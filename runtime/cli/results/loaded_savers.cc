// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/results/loaded_savers.h"

#include <utility>

#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/paths.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

LoadedSavers::LoadedSavers(std::function<PluginSearch()> search, Logger& log)
    : make_search_(std::move(search)),
      log_(log),
      loader_(policy_, cpu_, process_environment()("LD_LIBRARY_PATH").value_or("")),
      services_(log, system_clock(), "", 0) {
  services_.add("files", files_service());
  services_.add("saver", saver_service());
}

const SaverUse& LoadedSavers::use(const std::string& name) {
  auto found = savers_.find(name);
  if (found == savers_.end()) found = savers_.emplace(name, load(name)).first;
  return found->second;
}

SaverUse LoadedSavers::load(const std::string& name) {
  if (!search_) search_.emplace(make_search_());
  search_->find(PluginKind::kSaver, name);  // its error has the best reason
  Diagnostics problems;
  PluginResolver resolver(registry_, *search_, policy_, cpu_, {{"."}, process_environment()}, problems);
  std::optional<ResolvedPlugin> plugin = resolver.resolve(PluginKind::kSaver, plugin_use(name, {}, "the saver"));
  if (!problems.empty()) {
    const Diagnostic problem = problems.sorted().front();
    throw LoadError(LoadErrorKind::kUnusable, "", coded_message(problem), problem.help);
  }
  plugin->instance_name = name;
  const RegisteredPlugin& registered = load_plugin(*plugin, loader_, registry_);
  loader_.rest();
  for (const std::string& warning : loader_.warnings()) log_.warning("plugins", warning);
  return saver_use(instances_.create(registered, *plugin, services_, monitor_));
}

}  // namespace belay::runtime
