// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/state_file.h"

#include <fmt/core.h>

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/proto/checkpoint_state.pb.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Keeps the first error. Without a collector the library would print it.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, escaped(message));
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// "./a", "a/" and "/x/run/a" are the entry "a" of "/x/run". Other paths stay unchanged.
std::string entry_of(const std::string& directory, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto plain = [](const fs::path& p) {
    const fs::path normal = p.lexically_normal();
    return normal.has_filename() ? normal : normal.parent_path();
  };
  const fs::path run = plain(fs::absolute(directory, failed));
  const fs::path whole = plain(run / path);
  const std::string name = whole.filename().string();
  // Another way to the same directory, such as a symbolic link, also counts.
  const bool inside = whole.parent_path() == run || fs::equivalent(whole.parent_path(), run, failed);
  return inside && is_entry_name(name) ? name : path;
}

}  // namespace

std::string format_checkpoint_state(const CheckpointState& state) {
  pb::CheckpointState message;
  message.set_model_checkpoint_path(state.current);
  for (const CheckpointState::Kept& kept : state.kept) {
    message.add_all_model_checkpoint_paths(kept.path);
    message.add_all_model_checkpoint_timestamps(kept.saved_at);
  }
  message.set_last_preserved_timestamp(state.last_preserved);
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

CheckpointState parse_checkpoint_state(std::string_view text) {
  pb::CheckpointState message;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(16);
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &message))
    fail(Code::kDataLoss, "[B4012] " + (error.text().empty() ? "it has another format" : error.text()));
  CheckpointState state;
  state.current = message.model_checkpoint_path();
  if (state.current.empty()) fail(Code::kDataLoss, "[B4011] it names no current checkpoint (model_checkpoint_path)");
  const bool has_times = message.all_model_checkpoint_timestamps_size() == message.all_model_checkpoint_paths_size();
  for (int i = 0; i < message.all_model_checkpoint_paths_size(); ++i)
    state.kept.push_back(
        {message.all_model_checkpoint_paths(i), has_times ? message.all_model_checkpoint_timestamps(i) : 0});
  state.last_preserved = message.last_preserved_timestamp();
  const auto is_current = [&](const CheckpointState::Kept& k) { return k.path == state.current; };
  if (std::none_of(state.kept.begin(), state.kept.end(), is_current)) state.kept.push_back({state.current, 0});
  return state;
}

std::optional<CheckpointState> read_checkpoint_state(const OpenDirectory& run) {
  if (!run.exists(kStateFileName)) return std::nullopt;
  CheckpointState state;
  try {
    state = parse_checkpoint_state(run.read(kStateFileName, kMaxListBytes));
  } catch (const Error& e) {
    const std::string path = run.path() + "/" + std::string(kStateFileName);
    if (e.message().find(single_quoted(path)) != std::string_view::npos) throw;
    fail(e.code(), single_quoted(path) + ": " + std::string(e.message()));
  }
  state.current = entry_of(run.path(), state.current);
  for (CheckpointState::Kept& kept : state.kept) kept.path = entry_of(run.path(), kept.path);
  return state;
}

}  // namespace belay::runtime
