// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/validate_command.h"

#include <fmt/core.h>

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "belay/error.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCheckWidth = 28;

void print(const CheckResult& result, std::ostream& out) {
  out << "  " << std::left << std::setw(kCheckWidth) << result.check << verdict_name(result.verdict) << "\n";
  if (result.text.empty()) return;
  // A load error has its help on a separate line.
  const std::string text = shown_code(result.text);
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out << "    " << escaped(text.substr(begin, end - begin)) << "\n";
    begin = end + 1;
  }
}

Json json_of(const CheckResult& result) {
  CodedMessage coded = take_code(result.text);
  Json json{{"plugin", result.plugin}, {"check", result.check}, {"verdict", verdict_name(result.verdict)}};
  if (!coded.code.empty()) json["code"] = std::move(coded.code);
  json["text"] = std::move(coded.text);
  return json;
}

std::string sums(const std::map<Verdict, int>& counts) {
  const auto n = [&](Verdict v) { return counts.count(v) == 0 ? 0 : counts.at(v); };
  return fmt::format("{} passed, {} failed, {} skipped{}", n(Verdict::kPassed), n(Verdict::kFailed),
                     n(Verdict::kSkipped),
                     n(Verdict::kNeedsOptions) == 0 ? ""
                                                    : "; " + std::to_string(n(Verdict::kNeedsOptions)) +
                                                          (n(Verdict::kNeedsOptions) == 1 ? " plugin" : " plugins") +
                                                          " not tried for want of options");
}

ValidateOptions validate_options(const Given& given) {
  ValidateOptions out;
  out.sets = given.texts("set");
  out.seed = given.natural("seed");
  out.seconds = given.number("seconds");
  if (!(out.seconds >= 0.1 && out.seconds <= 86400))
    throw UsageError("[B5004] belay validate: --seconds must be from 0.1 to 86400");
  if (given.has("fuzz")) {
    out.fuzz_seconds = given.number("fuzz");
    if (!(out.fuzz_seconds >= 0.1 && out.fuzz_seconds <= 86400))
      throw UsageError("[B5004] belay validate: --fuzz must be from 0.1 to 86400 seconds");
  }
  if (given.has("fuzz-case")) {
    if (given.has("fuzz"))
      throw UsageError("[B5006] belay validate: --fuzz-case is one case of --fuzz; give one of both");
    out.fuzz_case = given.natural("fuzz-case");
  }
  out.in_process = given.has("in-process");
  return out;
}

}  // namespace

int validate_command(const std::string& file, const ValidateOptions& options, bool json, std::ostream& out,
                     std::ostream& err) {
  const std::string path = std::filesystem::absolute(file).lexically_normal().string();
  std::map<Verdict, int> counts;
  std::string plugin = "no plugin yet";
  Json all = Json::array();
  try {
    validate(path, options, [&](const CheckResult& result) {
      ++counts[result.verdict];
      if (json) {
        all.push_back(json_of(result));
        return;
      }
      if (result.plugin != plugin) out << (result.plugin.empty() ? path : result.plugin) << "\n";
      plugin = result.plugin;
      print(result, out);
      out.flush();
    });
  } catch (const Error& e) {
    err << e.what();
    return kExitUsage;
  }
  if (json)
    out << shown_json(all.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
  else
    out << sums(counts) << "\n";
  if (counts.count(Verdict::kFailed) != 0) return kExitPlugin;
  return counts.count(Verdict::kNeedsOptions) == 0 ? kExitDone : kExitUsage;
}

Command declare_validate() {
  return {.name = "validate",
          .arguments = "FILE.so",
          .what = "tests a plugin library against the whole contract, each check in a separate process",
          .options =
              {
                  {"set", "sets an option of the plugin; may be repeated", Takes::kTexts, "OPTION=VALUE"},
                  {"seed", "seed of all random numbers", Takes::kNatural, "N", "42"},
                  {"seconds", "time limit of one check", Takes::kNumber, "S", "30"},
                  {"fuzz", "then tests random cases, for this time with each plugin", Takes::kNumber, "SECONDS"},
                  {"fuzz-case", "tests only random case N", Takes::kNatural, "N"},
                  {"in-process", "uses no child processes, for a debugger; the first crash ends everything"},
                  {"json", "as JSON"},
              },
          .run =
              [](const Given& given) {
                const std::string file = given.argument("plugin file");
                return validate_command(file, validate_options(given), given.has("json"), std::cout, std::cerr);
              },
          .computes = true};
}

}  // namespace belay::runtime
