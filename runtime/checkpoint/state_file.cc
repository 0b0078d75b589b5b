#include "runtime/checkpoint/state_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "belay/error.h"
#include "runtime/checkpoint/proto/checkpoint_state.pb.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// Keeps the first error; without a collector the library would print it.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty())
      text_ = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + escaped(message);
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string format_checkpoint_state(const CheckpointState& state) {
  pb::CheckpointState message;
  message.set_model_checkpoint_path(state.current);
  for (const CheckpointState::Kept& kept : state.kept) {
    message.add_all_model_checkpoint_paths(kept.path);
    message.add_all_model_checkpoint_timestamps(kept.saved_at);
  }
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
    fail(Code::kDataLoss, error.text().empty() ? "it is no text of this form" : error.text());
  CheckpointState state;
  state.current = message.model_checkpoint_path();
  if (state.current.empty()) fail(Code::kDataLoss, "it names no current checkpoint (model_checkpoint_path)");
  const bool has_times = message.all_model_checkpoint_timestamps_size() == message.all_model_checkpoint_paths_size();
  for (int i = 0; i < message.all_model_checkpoint_paths_size(); ++i)
    state.kept.push_back(
        {message.all_model_checkpoint_paths(i), has_times ? message.all_model_checkpoint_timestamps(i) : 0});
  const auto is_current = [&](const CheckpointState::Kept& k) { return k.path == state.current; };
  if (std::none_of(state.kept.begin(), state.kept.end(), is_current)) state.kept.push_back({state.current, 0});
  return state;
}

}  // namespace belay::runtime
