// SPDX-License-Identifier: Apache-2.0
// expect: belay: plugin, file, name, on_error, host_... and, of an input, prefetch are the manifest's own keys in a
// plugin's table, of an exporter when, keep and signature, too, of a cluster timeout_secs, max_wait_secs, wire,
// bucket_mib, on_lost_rank and min_ranks: give the option another name
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Str text;
  };
  static constexpr auto about =
      belay::about("bad", "Has an option that never reaches it", belay::option("name", &Options::text, "a text"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
