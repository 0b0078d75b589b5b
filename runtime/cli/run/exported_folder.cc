// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/exported_folder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/loader/note/note.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::string manifest_of_exported(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::path(path) / "belay.toml";
  return std::filesystem::is_regular_file(file, ignored) ? file.string() : "";
}

std::vector<std::string> sets_of_exported(const std::string& path) {
  const std::string weights = (std::filesystem::absolute(path) / "model.safetensors").lexically_normal().string();
  return {"run.checkpoint=" + toml_string(weights), "scaffold.saver={ plugin = \"safetensors\" }"};
}

void warn_of_other_plugins(const std::string& path, const Registry& plugins, Logger& log) {
  std::ifstream file(std::filesystem::path(path) / "plugins.json");
  const nlohmann::json then = nlohmann::json::parse(file, nullptr, false);
  if (!then.is_array()) {
    log.warning("", escaped(path) + "/plugins.json cannot be read: which plugins the model was made with is not known");
    return;
  }
  for (const RegisteredPlugin& now : plugins.plugins())
    for (const nlohmann::json& p : then) {
      if (p.value("kind", "") != kind_name(now.info.kind) || p.value("name", "") != now.info.name) continue;
      if (p.value("hash", "") != now.build_id)
        log.warning("", now.label() + " is another one than that with which " + escaped(path) +
                            " was written, version " + escaped(p.value("version", "")) + ": predictions may differ");
    }
}

}  // namespace belay::runtime
