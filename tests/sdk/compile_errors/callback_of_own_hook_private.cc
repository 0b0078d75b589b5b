// SPDX-License-Identifier: Apache-2.0
// expect: belay: before_run is private, protected or shares its name with another member, so the host cannot call it:
// declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
  belay::RunArgs before_run(belay::RunContext&) override { return {}; }
};

// As a program does with its own hook.
[[maybe_unused]] belay::HookHandle own(const belay_host_api* api, belay_host* host) {
  return belay::hook(api, host, std::make_unique<Bad>());
}

}  // namespace
