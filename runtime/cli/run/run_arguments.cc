// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/command_line.h"

#include <fmt/core.h>
#include "runtime/cli/run/run_command.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

ResumeOptions resume_of(const Given& given) {
  ResumeOptions resume;
  resume.exact = given.has("exact");
  if (given.has("resume"))
    for (const std::string& how : given.texts("resume")) {
      if (how != "changed" && how != "must")
        throw UsageError("[B5004] belay run: --resume is \"" + escaped(how) + "\", must be changed or must");
      (how == "must" ? resume.must : resume.accept_changes) = true;
    }
  if (given.has("from-scratch") && (resume.must || resume.accept_changes))
    throw UsageError("[B5006] belay run: --from-scratch and --resume contradict each other; take one of them away");
  return resume;
}

void read_time_box(const Given& given, RunArguments& out) {
  constexpr int kMostStatus = 255;
  if (given.has("max-time")) {
    const std::string text = given.text("max-time");
    out.max_seconds = parse_duration(text);
    if (out.max_seconds <= 0)
      throw UsageError("[B5004] belay run: --max-time is \"" + escaped(text) +
                       "\", must be a time such as 90s, 15m, 2h or 1h30m, at most ten years");
  }
  if (!given.has("requeue-status")) return;
  out.requeue_status = static_cast<int>(given.integer("requeue-status"));
  if (out.max_seconds <= 0)
    throw UsageError("[B5006] belay run: --requeue-status is the status of --max-time; give that, too");
  if (out.requeue_status < 0 || out.requeue_status > kMostStatus)
    throw UsageError("[B5004] belay run: --requeue-status must be from 0 to 255");
}

void read_short(const Given& given, RunArguments& out) {
  if (!given.has("short")) return;
  if (out.trace && out.trace->empty())
    throw UsageError("[B5006] belay run: --short removes its directory, and the trace with it: give --trace=FILE");
  out.short_steps = given.integer("short");
  const ResumeOptions& resume = out.run.resume;
  if (out.short_steps < 1) throw UsageError("[B5004] belay run: --short must be at least 1");
  if (out.dry_run || out.run.from_scratch || resume.must || resume.accept_changes || resume.exact)
    throw UsageError(
        "[B5006] belay run: --short works in a temporary directory, which --dry-run, --from-scratch, --resume and "
        "--exact "
        "cannot be about; take them away");
}

}  // namespace

CommandOptions with_log_options(CommandOptions own) {
  own.insert(own.end(), {
                            {"log-format", "format of the log on stderr", Takes::kText, "text|json", "text"},
                            {"quiet,q", "logs only warnings and errors"},
                            {"verbose,v", "also logs debugging details"},
                            {"color", "in the log", Takes::kText, "auto|always|never", "auto"},
                        });
  return own;
}

void read_log_options(const Given& given, RunArguments& out) {
  const std::string command = "belay " + given.command();
  out.log_format = given.is_json("log-format") ? LogFormat::kJson : LogFormat::kText;
  const bool quiet = given.has("quiet"), verbose = given.has("verbose");
  if (quiet && verbose)
    throw UsageError(
        fmt::format("[B5006] {}: --quiet and --verbose contradict each other; take one of them away", command));
  if (quiet) out.log_level = LogLevel::kWarning;
  if (verbose) out.log_level = LogLevel::kDebug;
  const std::string colour = given.text("color");
  if (colour != "auto" && colour != "always" && colour != "never")
    throw UsageError(
        fmt::format("[B5004] {}: --color is \"{}\", must be auto, always or never", command, escaped(colour)));
  out.colour = colour == "always" ? Colour::kAlways : colour == "never" ? Colour::kNever : Colour::kAuto;
}

RunArguments run_arguments(const Given& given) {
  RunArguments out{manifest_arguments(given)};
  out.dry_run = given.has("dry-run");
  out.run.from_scratch = given.has("from-scratch");
  if (given.has("trace")) out.trace = given.text("trace");
  out.allow_full_disk = given.has("allow-full-disk");
  out.run.resume = resume_of(given);
  read_log_options(given, out);
  read_time_box(given, out);
  read_short(given, out);
  return out;
}

Command declare_run() {
  return {.name = "run",
          .arguments = "MANIFEST.toml...",
          .what = "trains the model that a manifest describes",
          .options = with_log_options(manifest_options({
              {"dry-run", "prints what the run would do, and writes nothing"},
              {"from-scratch", "begins at step 0, and moves the files of an earlier run aside"},
              {"resume",
               "changed: continues although the manifest or data make it a different training; must: fails without a "
               "checkpoint",
               Takes::kTexts, "changed|must"},
              {"exact", "exits with status 2 if the result may differ in a bit from a run that was never stopped"},
              {"max-time", "saves and ends after this time, such as 90s, 15m, 2h or 1h30m", Takes::kText, "TIME"},
              {"requeue-status", "exit status if --max-time ended the run (0)", Takes::kInt, "N"},
              {"trace",
               "writes the times of steps, hooks and operations for ui.perfetto.dev (trace.json in the run's "
               "directory)",
               Takes::kTextOrNothing, "FILE"},
              {"allow-full-disk", "trains even if the disk has no room for a checkpoint"},
              {"short", "trains N steps in a temporary directory, as a quick test", Takes::kInteger, "N"},
          })),
          .run = [](const Given& given) { return run_command(run_arguments(given)); },
          .computes = true};
}

}  // namespace belay::runtime
