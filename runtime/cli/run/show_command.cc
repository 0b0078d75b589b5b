// SPDX-License-Identifier: Apache-2.0
// `belay show MANIFEST.toml...` prints the effective manifest.
#include <iostream>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/watch/watched_run.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"

namespace belay::runtime {
namespace {

// `origin`: with the place of each value.
int show_command(const ManifestArguments& arguments, bool origin) {
  Diagnostics problems;
  const std::optional<Manifest> manifest =
      parse_manifests(arguments.manifests, arguments.sets, process_environment(), problems);
  if (!problems.empty()) {
    print(problems, arguments);
    return kExitUsage;
  }
  std::cout << (origin ? manifest_with_origins(*manifest) : effective_manifest(*manifest)) << std::flush;
  return kExitDone;
}
}  // namespace

Command declare_show() {
  return {.name = "show",
          .arguments = "MANIFEST.toml...",
          .what = "prints the effective manifest, with all defaults",
          .options = manifest_options({{"origin", "also prints the file and line of each value"}}),
          .run = [](const Given& given) { return show_command(manifest_arguments(given), given.has("origin")); }};
}

}  // namespace belay::runtime
