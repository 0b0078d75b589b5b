// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/checkpoint_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/data/schema.h"
#include "runtime/estimator/resume/export_folder.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Keeps the lines of an attempt until they are known to be true: a checkpoint that was deleted looks like a damaged
// one.
class HeldLog final : public Logger {
 public:
  explicit HeldLog(Logger& log) : log_(log) {}
  void log(LogLevel level, std::string_view source, std::string_view text) override {
    lines_.push_back({level, std::string(source), std::string(text)});
  }
  bool enabled(LogLevel level) const override { return log_.enabled(level); }
  bool interactive() const override { return false; }
  void status_line(std::string_view) override {}
  void set_step(std::int64_t) override {}
  void flush() override {}

  bool empty() const noexcept { return lines_.empty(); }
  void pass_on() {
    for (const Line& line : lines_) log_.log(line.level, line.source, line.text);
    lines_.clear();
  }

 private:
  struct Line {
    LogLevel level;
    std::string source, text;
  };
  Logger& log_;
  std::vector<Line> lines_;
};

// The checkpoints of a directory, the content of its state file, and its best ones.
struct Look {
  std::vector<std::pair<std::string, std::uint64_t>> checkpoints;  // names and inodes
  std::string state;
  std::vector<std::string> best;
  bool operator==(const Look&) const = default;
};

// The best one first; none if the run keeps none.
std::vector<std::string> names_of_best(const OpenDirectory& run, const BestCheckpoints& best) {
  if (best) return best(run);
  const std::optional<BestList> list = read_best_list(run);
  if (!list) return {};
  check_has_best(run, *list);
  std::vector<std::string> names;
  for (const BestCheckpoint& c : list->checkpoints) names.push_back(checkpoint_name(c.step, list->basename));
  return names;
}

// An unreadable file counts as missing: the caller needs only to know whether anything changed.
Look look_at(const OpenDirectory& run, const BestCheckpoints& best, const std::string& also) {
  Look look;
  const auto quietly = [](const auto& f) {
    try {
      f();
    } catch (const Error&) {
    }
  };
  std::vector<std::string> names;
  std::string basename;
  quietly([&] {
    names = run.entries();
    basename = basename_in(run);
  });
  for (const std::string& name : names)
    if (step_of_checkpoint(name, basename) || name == also)
      quietly([&] { look.checkpoints.emplace_back(name, run.status(name).inode); });
  quietly([&] { look.state = run.read(kStateFileName, kMaxListBytes); });
  quietly([&] { look.best = names_of_best(run, best); });
  return look;
}

std::vector<std::string> listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 10;
  for (std::string& name : names) name = escaped(name);
  if (names.size() <= kMost) return names;
  const std::string rest = fmt::format("and {} more", names.size() - kMost);
  names.resize(kMost);
  names.push_back(rest);
  return names;
}

// "; it holds a, b" or "; it is empty".
std::string content_of(const OpenDirectory& directory) {
  const std::vector<std::string> names = directory.entries();
  return names.empty() ? "; it is empty" : "; it holds " + joined(listed(names));
}

std::string steps_there(const OpenDirectory& run) {
  const std::string basename = basename_in(run);
  std::vector<std::int64_t> steps;
  for (const std::string& name : run.entries())
    if (const auto step = step_of_checkpoint(name, basename)) steps.push_back(*step);
  if (steps.empty()) return "; there is none of any step";
  std::ranges::sort(steps);
  std::vector<std::string> texts;
  for (const std::int64_t step : steps) texts.push_back(std::to_string(step));
  return "; there are those of the steps " + joined(texts);
}

// The target of a choice, with its directory already open.
struct Target {
  std::unique_ptr<OpenDirectory> directory;
  CheckpointChoice::Kind kind;
  std::string name;  // of kStep and kPath: the entry
};

// A folder of weights alone, as an exporter leaves it.
bool is_file_of_tensors(const CheckpointPlace& place, const CheckpointChoice& choice) {
  return choice.kind == CheckpointChoice::Kind::kPath && !saver_of_name(choice.path).empty() &&
         place.files.exists(choice.path) && place.files.status(choice.path).kind == FileKind::kFile;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Target target_of_path(FileSystem& files, const CheckpointChoice& choice) {
  const std::string path = without_slashes(choice.path);
  if (!files.exists(path)) {
    const bool tensorflow = files.exists(path + ".index");
    fail(tensorflow ? Code::kFailedPrecondition : Code::kNotFound,
         tensorflow ? fmt::format("[B4025] {} is a checkpoint of TensorFlow: convert it with belay checkpoint convert",
                                  single_quoted(path))
                    : fmt::format("[B4025] there is no {}{}", single_quoted(path), choice.hint));
  }
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == path.npos ? path : path.substr(slash + 1);
  const std::string parent = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (files.status(path).kind == FileKind::kFile && name == kBestName)
    return {files.open_directory(parent), CheckpointChoice::Kind::kBest, ""};
  if (files.status(path).kind != FileKind::kDirectory)
    fail(Code::kFailedPrecondition, fmt::format("[B4025] {} is a file; a checkpoint is a directory such as "
                                                "model.ckpt-2000",
                                                single_quoted(path)));
  std::unique_ptr<OpenDirectory> directory = files.open_directory(path);
  if (directory->exists(kIndexName) && is_entry_name(name))
    return {files.open_directory(parent), CheckpointChoice::Kind::kPath, name};
  if (basenames_in(*directory).empty())
    fail(Code::kFailedPrecondition, fmt::format("[B4025] {} is no checkpoint, which has a file 'index', and no run "
                                                "directory, which has model.ckpt-*{}",
                                                single_quoted(path), content_of(*directory)));
  return {std::move(directory), CheckpointChoice::Kind::kLatest, ""};
}

Target target_of(const CheckpointPlace& place, const CheckpointChoice& choice) {
  if (choice.kind == CheckpointChoice::Kind::kPath) return target_of_path(place.files, choice);
  if (!place.files.exists(place.run_directory))
    fail(Code::kNotFound,
         fmt::format("[B4025] there is no run directory {}; train first, or name the checkpoint by its "
                     "path",
                     single_quoted(place.run_directory)));
  Target target{place.files.open_directory(place.run_directory), choice.kind, ""};
  if (choice.kind == CheckpointChoice::Kind::kStep)
    target.name = checkpoint_name(choice.step, basename_in(*target.directory));
  return target;
}

std::unique_ptr<CheckpointReader> open_latest(const OpenDirectory& run, Logger& log) {
  std::unique_ptr<CheckpointReader> found = find_restorable(run, log);
  if (found == nullptr)
    fail(Code::kNotFound, fmt::format("[B4025] {} holds no checkpoint{}", single_quoted(run.path()), content_of(run)));
  return found;
}

// Opens the best one like find_best, with a list from elsewhere.
std::unique_ptr<CheckpointReader> open_best(const OpenDirectory& run, const BestCheckpoints& best, Logger& log) {
  const std::vector<std::string> names = names_of_best(run, best);
  if (names.empty())
    fail(Code::kNotFound,
         fmt::format("[B4017] {} has no best checkpoints: set [checkpoint] keep_best", single_quoted(run.path())));
  std::vector<std::string> reasons;
  for (const std::string& name : names) {
    std::string reason;
    if (std::unique_ptr<CheckpointReader> reader = open_if_whole(run, name, reason)) return reader;
    log.warning("checkpoint", "one of the best checkpoints is missing or damaged, the next best is taken: " + reason);
    reasons.push_back(std::move(reason));
  }
  throw RestoreError(Code::kDataLoss, fmt::format("[B4034] none of the best checkpoints of {} can be restored:\n  {}",
                                                  single_quoted(run.path()), joined(reasons, "\n  ")));
}

std::unique_ptr<CheckpointReader> open_named(const OpenDirectory& run, const std::string& name) {
  if (!run.exists(name))
    fail(Code::kNotFound,
         fmt::format("[B4025] {} holds no {}{}", single_quoted(run.path()), escaped(name), steps_there(run)));
  return CheckpointReader::open(run.open_directory(name));
}

std::unique_ptr<CheckpointReader> open_target(const Target& target, const BestCheckpoints& best, Logger& log) {
  switch (target.kind) {
    case CheckpointChoice::Kind::kLatest: return open_latest(*target.directory, log);
    case CheckpointChoice::Kind::kBest: return open_best(*target.directory, best, log);
    default: return open_named(*target.directory, target.name);
  }
}

}  // namespace

CheckpointChoice parse_checkpoint_choice(std::string_view text) {
  if (text == "latest") return {};
  if (text == "best") return {.kind = CheckpointChoice::Kind::kBest};
  if (text.empty())
    fail(Code::kInvalidArgument, "[B5004] a checkpoint is latest, best, a step or a path, and not empty");
  if (text.find_first_not_of("0123456789") != text.npos)
    return {.kind = CheckpointChoice::Kind::kPath,
            .path = std::string(text),
            .hint = "; --checkpoint is latest, best, a step or a path"};
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc())
    fail(Code::kInvalidArgument, fmt::format("[B5004] {} is no step: it is larger than any", text));
  return {.kind = CheckpointChoice::Kind::kStep, .step = step};
}

bool has_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice) {
  if (choice.kind == CheckpointChoice::Kind::kLatest && !place.files.exists(place.run_directory)) return false;
  if (is_file_of_tensors(place, choice)) return true;
  const Target target = target_of(place, choice);
  if (target.kind != CheckpointChoice::Kind::kLatest) return true;
  HeldLog held(place.log);
  const bool there = holds_checkpoints(*target.directory, held);
  if (!there) held.pass_on();  // else they come when it is opened
  return there;
}

UsedCheckpoint with_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                               const std::function<void(const CheckpointReader&)>& use) {
  const Target target = target_of(place, choice);
  const auto look = [&] { return look_at(*target.directory, place.best, target.name); };
  for (int attempt = 1;; ++attempt) {
    HeldLog held(place.log);
    const Look before = look();
    const auto unchanged = [&] { return attempt == kChoiceAttempts || look() == before; };
    try {
      const std::unique_ptr<CheckpointReader> checkpoint = open_target(target, place.best, held);
      use(*checkpoint);
      if (held.empty() || unchanged()) {
        held.pass_on();
        return {checkpoint->path(), checkpoint->state().global_step};
      }
    } catch (const Error&) {
      if (unchanged()) {
        held.pass_on();
        throw;
      }
    }
    place.log.info("checkpoint", "the checkpoints of " + escaped(target.directory->path()) +
                                     " changed while one was read; looking again");
  }
}

namespace {

void load_into(VariableStore& store, const StoredTensors& stored, const SaverUse& saver) {
  std::vector<Variable*> variables;
  std::vector<NamedTensor> targets;
  for (const TensorInfo& t : stored.tensors()) {
    if (t.dtype == DType::kInvalid) continue;  // of another program's type: who needs it finds none
    variables.push_back(&store.find_or_create(t.name, t.dtype, t.dims, false));
    targets.push_back({t.name, variables.back()->value.view(), true});
  }
  const std::unique_lock gate(store.gate());
  for (Variable* v : variables) v->initialized = false;
  stored.read(saver, targets);
  for (Variable* v : variables) {
    v->initialized = true;
    ++v->version;
  }
}

}  // namespace

void check_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice) {
  if (!is_file_of_tensors(place, choice)) with_checkpoint(place, choice, [](const CheckpointReader&) {});
}

UsedCheckpoint load_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice, const SaverUse& saver,
                               DirectSession& session) {
  if (is_file_of_tensors(place, choice)) {
    load_variables(session, *open_stored_tensors(place.files, choice.path, saver, place.log), saver);
    return {choice.path, session.global_step()};
  }
  return with_checkpoint(place, choice,
                         [&](const CheckpointReader& checkpoint) { load_variables(session, checkpoint, saver); });
}

UsedCheckpoint load_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice, const SaverUse& saver,
                               VariableStore& store) {
  if (is_file_of_tensors(place, choice)) {
    load_into(store, *open_stored_tensors(place.files, choice.path, saver, place.log), saver);
    Variable& step = store.find_or_create("global_step", DType::kInt64, {}, false);
    step.initialized = true;
    return {choice.path, TensorView(step.value.view()).scalar<std::int64_t>()};
  }
  return with_checkpoint(place, choice,
                         [&](const CheckpointReader& checkpoint) { load_into(store, checkpoint, saver); });
}

namespace {

StoredSchema schema_beside(const OpenDirectory& directory) {
  return {directory.path(), directory.exists(kSchemaName) ? directory.read(kSchemaName, kMaxSchemaBytes) : ""};
}

// The files that the index of a checkpoint or the record of an export lists; none: the directory has neither.
std::vector<FileEntry> files_listed_in(const OpenDirectory& directory) {
  if (directory.exists(kIndexName)) return parse_index(directory.read(kIndexName, kMaxIndexBytes)).files;
  if (directory.exists(kExportFileName))
    return parse_export_record(directory.read(kExportFileName, kMaxListBytes)).files;
  return {};
}

// Whether the schema is the one that was written with the values beside it. A file without an entry cannot be compared.
bool is_as_written(const OpenDirectory& directory, const std::string& schema) {
  try {
    for (const FileEntry& file : files_listed_in(directory))
      if (file.name == kSchemaName) return schema.size() == file.length && crc32c(schema) == file.crc32c;
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool can_be_read(const std::string& text) {
  try {
    parse_schema(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string name_in(const Target& target, const BestCheckpoints& best) {
  if (target.kind == CheckpointChoice::Kind::kLatest) return newest_checkpoint(*target.directory);
  if (target.kind != CheckpointChoice::Kind::kBest) return target.name;
  const std::vector<std::string> names = names_of_best(*target.directory, best);
  return names.empty() ? "" : names.front();
}

}  // namespace

StoredSchema read_schema(const CheckpointPlace& place, const CheckpointChoice& choice) {
  StoredSchema stored;
  bool as_written = true;
  try {
    if (is_file_of_tensors(place, choice)) {
      const std::string parent = choice.path.find('/') == std::string::npos
                                     ? "."
                                     : choice.path.substr(0, std::max<std::size_t>(choice.path.rfind('/'), 1));
      const std::unique_ptr<OpenDirectory> directory = place.files.open_directory(parent);
      stored = schema_beside(*directory);
      as_written = is_as_written(*directory, stored.text);
    } else {
      const Target target = target_of(place, choice);
      const std::string name = name_in(target, place.best);
      if (name.empty()) return schema_beside(*target.directory);
      const std::unique_ptr<OpenDirectory> checkpoint = target.directory->open_directory(name);
      stored = schema_beside(*checkpoint);
      as_written = is_as_written(*checkpoint, stored.text);
      if (as_written && can_be_read(stored.text)) return stored;
      // A damaged checkpoint is replaced by an older one; the run learned the same.
      StoredSchema of_run = schema_beside(*target.directory);
      if (can_be_read(of_run.text)) return {stored.path, std::move(of_run.text)};
    }
  } catch (const Error&) {
    return {};
  }
  // The reader of a damaged schema reports the error.
  if (!as_written && (stored.text.empty() || can_be_read(stored.text)))
    fail(Code::kDataLoss,
         fmt::format("[B5041] {}{}: it records which columns and classes the model's values are for; put "
                     "back the file that was written with them, or export anew",
                     single_quoted(stored.path + "/" + std::string(kSchemaName)),
                     stored.text.empty() ? " is missing" : " is not the file that was written"));
  return stored;
}

}  // namespace belay::runtime
