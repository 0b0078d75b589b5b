// SPDX-License-Identifier: Apache-2.0
// Writes the digest of all variables, regularly. Two runs are equal up to the step at which their digests differ. A
// separate run reads the variables after the step, so it changes no step.
#include <belay/due_steps.h>
#include <belay/lines_file.h>
#include <belay/output_file.h>  // check_file_name
#include <belay/plugin.h>
#include <belay/state_digest.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// Encodes fields of protocol buffers: a length-delimited one, and a small number.
std::string bytes_field(int number, std::string_view content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + std::string(content);
}
std::string number_field(int number, int value) { return {static_cast<char>(number << 3), static_cast<char>(value)}; }

// Returns a Summary with one string as its value, for TensorBoard's dashboard of text. It must be short: each length is
// a byte.
std::string text_summary(std::string_view tag, std::string_view text) {
  constexpr int kValue = 1, kTag = 1, kTensor = 8, kMetadata = 9;
  constexpr int kPluginData = 1, kPluginName = 1, kDType = 1, kString = 7, kStringValue = 8, kShape = 2;
  const std::string tensor = number_field(kDType, kString) + bytes_field(kShape, "") + bytes_field(kStringValue, text);
  const std::string metadata = bytes_field(kPluginData, bytes_field(kPluginName, "text"));
  return bytes_field(kValue, bytes_field(kTag, tag) + bytes_field(kTensor, tensor) + bytes_field(kMetadata, metadata));
}

class StateDigestHook final : public belay::Hook {
 public:
  struct Options {
    std::int64_t every_n_steps = 100;
    belay::Str output_file = "metrics.jsonl";
    bool log = false;
  };
  static constexpr auto about = belay::about(
      "state_digest", "Writes a digest of all variables; runs with equal digests have equal bits",
      belay::option("every_n_steps", &Options::every_n_steps, "period of the digests, in steps").min(1).watching(),
      belay::option(
          "output_file", &Options::output_file,
          "name of the file in the run directory that gets a JSON line; if empty, only the event file has the digests")
          .watching(),
      belay::option("log", &Options::log, "true: also writes the digest to the log").watching());

  explicit StateDigestHook(const Options& o) : due_(o.every_n_steps), log_(o.log) {
    if (const std::string path = path_of(o); !path.empty()) file_.emplace(host(), path);
  }

  void begin(belay::Graph& graph) override { due_.begin(graph); }

  void after_create_session(belay::Session& session) override {
    due_.session_created(session);
    names_.clear();
    outputs_.clear();
    const belay::Graph graph = session.graph();
    for (belay::VariableInfo& variable : session.variables()) {
      outputs_.emplace_back(graph.find(variable.name));
      names_.push_back(std::move(variable.name));
    }
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    due_.next(host());
    return {due_.fetch()};
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (!step) return;
    const belay::RunResult state = run.session().run(outputs_);
    belay::StateDigest digest;
    for (std::size_t i = 0; i < names_.size(); ++i) digest.add(names_[i], state[i]);
    const std::string text = digest.text();
    belay::Events(host()).summary(text_summary("state_digest", text), *step);
    if (log_) host().info("state_digest = " + text + " at step " + std::to_string(*step));
    append(*step, text);
  }

  void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { due_.load(state, host()); }

 private:
  std::string path_of(const Options& o) const {
    const std::string_view file = o.output_file.view();
    belay::check_file_name("output_file", file, "metrics.jsonl");
    const std::string directory = host().run_directory();
    return file.empty() || directory.empty() ? "" : directory + "/" + std::string(file);
  }

  // Appends whole lines to the file. The hook json_lines writes there, too, and neither cuts the other's lines.
  void append(std::int64_t step, const std::string& digest) {
    if (!file_) return;
    char time[64];
    const auto end = std::to_chars(time, time + sizeof(time), host().wall_seconds(), std::chars_format::fixed, 3).ptr;
    file_->add("{\"step\":" + std::to_string(step) + ",\"attempt\":" + std::to_string(host().attempt()) + ",\"time\":" +
               std::string(time, end) + ",\"event\":\"state_digest\",\"state_digest\":\"" + digest + "\"}");
    file_->flush();
  }

  belay::DueSteps due_;
  const bool log_;
  std::optional<belay::LinesFile> file_;
  std::vector<std::string> names_;
  std::vector<belay::FetchRef> outputs_;
};

}  // namespace

BELAY_MODULE("1.0.0", StateDigestHook)
