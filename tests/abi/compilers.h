// SPDX-License-Identifier: Apache-2.0
// Runs the machine's compilers on the sources of this folder, as a plugin's author would.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace belay::runtime {

struct Output {
  int status = -1;
  std::string text;  // stdout and stderr
};

inline Output run(const std::string& command) {
  Output output;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof(block), pipe)) != 0;) output.text.append(block, n);
  const int status = ::pclose(pipe);
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

inline bool has_command(const std::string& name) { return run("command -v " + name).status == 0; }

inline std::string source(const std::string& name) { return BELAY_SOURCE_DIR "/tests/abi/" + name; }

// `compiler` with its flags, the SDK's headers and a file of this folder.
inline Output compile(const std::string& compiler, const std::string& name, const std::string& to) {
  return run(compiler + " -I'" BELAY_SOURCE_DIR "/sdk/include' '" + source(name) + "' -o '" + to + "'");
}

}  // namespace belay::runtime
