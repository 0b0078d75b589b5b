// SPDX-License-Identifier: Apache-2.0
// The environment of a process as a function, so a test or a program can replace it.
//
//   RunConfig config({}, [](const std::string& name) -> std::optional<std::string> {
//     return name == "BELAY_CONFIG" ? std::optional<std::string>(R"({"model_dir": "/tmp/run"})") : std::nullopt;
//   });
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace belay::runtime {

// Returns the value of a variable by its name; empty: it is not set. The function that takes it calls it on its own
// thread.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The environment of this process. Each call asks getenv.
Environment process_environment();

}  // namespace belay::runtime
