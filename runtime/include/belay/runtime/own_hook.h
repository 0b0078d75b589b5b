// SPDX-License-Identifier: Apache-2.0
// The hooks that a program adds to a session: an object of a class of the program, or a plugin with options.
//
//   class Watch final : public belay::Hook { ... };
//   options.hooks.push_back(belay::own_hook("watch", std::make_unique<Watch>(200)));
//   options.hooks.push_back(belay::plugin_hook("stop_at_step", {{"last_step", 2000}}));
//
// Hooks are called in the order of the list. belay/hook.h states the rules of each callback.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/module.h"
#include "belay/runtime/plugin_use.h"

namespace belay::runtime {

// One entry of such a list; the two functions below make it. A copy is the same hook, not a second one.
struct OwnHook {
  // Name of the instance, unique in a session. The checkpoint keeps the hook's state under it, and errors and the log
  // show it.
  std::string name;
  // Makes the instance when the session is made; empty if `plugin` is set.
  std::function<HookHandle(const belay_host_api*, belay_host*)> make;
  // The plugin with its options; empty: a program's own hook.
  std::optional<PluginUse> plugin = {};
};

// Adds an object of a program's class that derives from belay::Hook. The session destroys it, with everything that it
// holds, after the session's end. It is for one session; in a second one it is FAILED_PRECONDITION. To keep its
// results, let the object refer to something that outlives the session.
template <class T>
OwnHook own_hook(std::string name, std::unique_ptr<T> hook) {
  auto held = std::make_shared<std::unique_ptr<T>>(std::move(hook));
  return {std::move(name), [held](const belay_host_api* api, belay_host* host) {
            if (*held == nullptr) fail(Code::kFailedPrecondition, "the hook is in another session already");
            return belay::hook(api, host, std::move(*held));
          }};
}

// The same with a function that makes the object, once for each session. Use it for hooks of several sessions, such as
// those of an EvalSpec, or of a train that is called again.
//   belay::own_hook("watch", [] { return std::make_unique<Watch>(200); })
template <std::invocable F>
OwnHook own_hook(std::string name, F make) {
  return {std::move(name),
          [make](const belay_host_api* api, belay_host* host) { return belay::hook(api, host, make()); }};
}

// Adds a hook plugin of the session by its name, with options as in a manifest ("layers.0.units" for a key of a nested
// table). A hook that is also a default hook of the session replaces it. `name`: of the instance. Empty: the plugin's
// name, so a second hook of one plugin needs a name. Wrong options, or an unknown plugin, are an error when the session
// is made.
OwnHook plugin_hook(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options = {},
                    const std::string& name = {});

}  // namespace belay::runtime

namespace belay {
using runtime::own_hook;     // NOLINT(misc-unused-using-decls): for programs
using runtime::OwnHook;      // NOLINT(misc-unused-using-decls): for programs
using runtime::plugin_hook;  // NOLINT(misc-unused-using-decls): for programs
}  // namespace belay
