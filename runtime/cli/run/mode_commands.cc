// SPDX-License-Identifier: Apache-2.0
// `belay evaluate`, `predict` and `export` are `belay run` with some settings. Their options are short forms of these.
#include <algorithm>
#include <utility>

#include "belay/detail/parse_options.h"  // number_text
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/run/exported_folder.h"
#include "runtime/cli/run/run_command.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/files/absolute_path.h"

namespace belay::runtime {
namespace {

// "a,b" as a TOML list of strings.
std::string list_text(const std::string& names) {
  std::string text = "[";
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    text += (begin == 0 ? "" : ", ") + toml_string(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return text + "]";
}

bool is_path(const std::string& checkpoint) {
  return checkpoint != "latest" && checkpoint != "best" &&
         (checkpoint.empty() || checkpoint.find_first_not_of("0123456789") != checkpoint.npos);
}

// Returns the options of a command as settings of the manifest.
std::vector<std::string> settings_of(const Given& given) {
  std::vector<std::string> sets;
  const auto set = [&](const char* option, const std::string& key, const auto& text_of) {
    if (given.has(option)) sets.push_back(key + "=" + text_of(option));
  };
  const auto string = [&](const char* option) { return toml_string(given.text(option)); };
  const auto integer = [&](const char* option) { return std::to_string(given.integer(option)); };
  set("checkpoint", "run.checkpoint", [&](const char* option) {
    const std::string text = given.text(option);
    return toml_string(is_path(text) && !text.empty() ? absolute_path(text) : text);
  });
  if (given.has("prompt") && (given.has("keys") || given.has("format")))
    throw UsageError(
        "[B5006] belay predict: --prompt samples text, to which --keys and --format do not apply; leave them out");
  set("keys", "predict.keys", [&](const char* option) { return list_text(given.text(option)); });
  set("format", "predict.format", string);
  set("output", "predict.output", [&](const char* option) { return toml_string(absolute_path(given.text(option))); });
  set("prompt", "predict.prompt", string);
  set("length", "predict.length", integer);
  set("temperature", "predict.temperature",
      [&](const char* option) { return detail::number_text(given.number(option)); });
  set("seed", "predict.seed", integer);
  return sets;
}

int run_mode(const Given& given) { return run_command(mode_arguments(given)); }

CommandOptions mode_options() {
  return with_log_options(
      manifest_options({{"checkpoint", "checkpoint to use (latest)", Takes::kText, "latest|best|N|PATH"}}));
}

}  // namespace

RunArguments mode_arguments(const Given& given) {
  RunArguments out{manifest_arguments(given)};
  const std::vector<std::string> sets = std::exchange(out.sets, {"run.mode=" + toml_string(given.command())});
  const auto append = [&](const std::vector<std::string>& more) {
    out.sets.insert(out.sets.end(), more.begin(), more.end());
  };
  if (const std::string manifest = manifest_of_exported(out.manifests[0]);
      given.command() == "predict" && !manifest.empty()) {
    out.exported = std::exchange(out.manifests[0], manifest);
    append(sets_of_exported(out.exported));
  }
  append(settings_of(given));
  append(sets);
  read_log_options(given, out);
  return out;
}

Command declare_evaluate() {
  return {.name = "evaluate",
          .arguments = "MANIFEST.toml...",
          .what = "evaluates a checkpoint on the manifest's evaluation inputs",
          .options = mode_options(),
          .run = run_mode,
          .computes = true};
}

Command declare_predict() {
  CommandOptions options = mode_options();
  options.insert(options.end(),
                 {
                     {"keys", "names of the predictions to write (all)", Takes::kText, "NAME,..."},
                     {"format", "format of the predictions; auto: by the ending of --output, else jsonl", Takes::kText,
                      "auto|jsonl|csv|npy"},
                     {"output", "file to write, which appears as a whole or not at all (stdout)", Takes::kText, "FILE"},
                     {"prompt", "samples text that follows TEXT", Takes::kText, "TEXT"},
                     {"length", "number of characters to sample (200)", Takes::kInteger, "N"},
                     {"temperature", "temperature of the sampling; 0: always the most probable character (1)",
                      Takes::kNumber, "T"},
                     {"seed", "seed of the sampling (42)", Takes::kInteger, "N"},
                 });
  return {.name = "predict",
          .arguments = "MANIFEST.toml...|DIR",
          .what = "prints a model's predictions, or text that follows a prompt",
          .options = std::move(options),
          .run = run_mode,
          .computes = true};
}

Command declare_export() {
  return {.name = "export",
          .arguments = "MANIFEST.toml...",
          .what = "writes a checkpoint's model for other programs, with the manifest's exporters",
          .options = mode_options(),
          .run = run_mode};
}

}  // namespace belay::runtime
