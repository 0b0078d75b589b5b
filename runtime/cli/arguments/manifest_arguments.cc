// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/manifest_arguments.h"

#include <algorithm>

namespace belay::runtime {

CommandOptions manifest_options(const CommandOptions& own) {
  CommandOptions all = {
      {"set", "sets a key of the manifest; may be repeated", Takes::kTexts, "KEY=VALUE"},
      {"diagnostics", "format of the manifest's errors; json: for editors, one line per error on stderr", Takes::kText,
       "text|json", "text"},
  };
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

ManifestArguments manifest_arguments(const Given& given) {
  ManifestArguments out{given.arguments(), given.texts("set")};
  if (out.manifests.empty())
    throw UsageError("[B5003] belay " + given.command() + " takes a manifest, none was given" + given.see_help());
  if (std::count(out.manifests.begin(), out.manifests.end(), "-") > 1)
    throw UsageError("[B5003] belay " + given.command() + " reads standard input once; give \"-\" once");
  out.json_diagnostics = given.is_json("diagnostics");
  return out;
}

}  // namespace belay::runtime
