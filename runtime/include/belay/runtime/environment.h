// SPDX-License-Identifier: Apache-2.0
// The environment of a process as a function, so that a test or a program can replace it.
//
//   RunConfig config({}, [](const std::string& name) -> std::optional<std::string> {
//     return name == "BELAY_CONFIG" ? std::optional<std::string>(R"({"model_dir": "/tmp/run"})") : std::nullopt;
//   });
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace belay::runtime {

// The value of a variable by its name; nothing where it is not set. Called on the thread of the function that takes it.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// That of this process, which is asked at each call: getenv.
Environment process_environment();

}  // namespace belay::runtime
