// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/check.h"

#include <fmt/core.h>

#include "runtime/manifest/parse.h"

namespace belay::runtime {

belay::testing::DriverSetup setup_of(const Subject& subject) {
  belay::testing::DriverSetup setup;
  setup.plugin = subject.info.name;
  return setup;
}

std::string text_of(const Error& error) { return std::string(code_name(error.code())) + ": " + error.what(); }

void options_can_be_given(const Subject& subject, const std::string& section) {
  for (const SectionKeys& known : manifest_keys())
    for (const std::string& key : known.keys)
      if (known.section == section && subject.info.option(key) != nullptr)
        throw CheckFailed("its option '" + key + "' can never be given: in [" + section +
                          "] that key is the host's; name it otherwise");
}

void require_explained(const std::string& where, const Error& error) {
  const auto code = static_cast<std::int32_t>(error.code());
  const bool known =
      code == BELAY_STOP || code == BELAY_DIVERGED || code == BELAY_SKIP ||
      (code > BELAY_OK && (code == BELAY_INTERNAL || std::string(code_name(error.code())) != "INTERNAL"));
  if (!known) throw CheckFailed(fmt::format("{} returned {}, which is no code of abi.h", where, code));
  if (error.message().empty())
    throw CheckFailed(where + " failed with " + code_name(error.code()) +
                      " and no message; give a message that names the fault");
}

}  // namespace belay::runtime
