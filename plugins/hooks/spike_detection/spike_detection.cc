// SPDX-License-Identifier: Apache-2.0
#include <belay/output_file.h>
#include <belay/plugin.h>
#include <belay/scalar_fetches.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace {

using belay::Code;
using json = nlohmann::ordered_json;

class SpikeDetection final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    std::int64_t window = 100;
    double deviations = 6;
    belay::Str action = "warn";
    std::int64_t start_from_step = 0;
    belay::Str output_file = "spikes.json";
  };
  static constexpr auto about = belay::about(
      "spike_detection", "Finds steps in which a scalar jumps far above its last values",
      belay::option("tensor", &Options::tensor, "scalar to watch in each step").watching(),
      belay::option("window", &Options::window, "number of earlier values to compare with").range(2, 1e6).watching(),
      belay::option("deviations", &Options::deviations,
                    "distance from the mean of these values that makes a spike, in their standard deviations")
          .min(1)
          .watching(),
      belay::option("action", &Options::action,
                    "warn: writes a warning; stop: ends the run as if it had finished; fail: ends it with status 4")
          .choices("warn", "stop", "fail")
          .watching(),
      belay::option("start_from_step", &Options::start_from_step, "global step at which the checks begin")
          .min(0)
          .watching(),
      belay::option("output_file", &Options::output_file,
                    "name of the file in the run directory that lists the last spikes; if empty, no file is written")
          .watching());

  explicit SpikeDetection(const Options& o)
      : deviations_(o.deviations),
        action_(o.action),
        start_from_step_(o.start_from_step),
        output_file_(o.output_file),
        scalar_({o.tensor.string()}),
        window_(static_cast<std::size_t>(o.window)) {
    belay::check_file_name("output_file", output_file_);
  }

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    scalar_.begin(graph, "spike_detection");
  }
  void after_create_session(belay::Session& session) override {
    step_.forget();
    const std::int64_t step = step_.read(session);
    while (!spikes_.empty() && spikes_.back().step > step) spikes_.pop_back();  // in steps that are made again
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    scalar_.add_to(args);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const std::int64_t step = step_.predicted(values);
    const double value = scalar_.value(values, 0);
    if (step < start_from_step_ || !std::isfinite(value)) return;  // nan_tensor handles values that are not finite
    const std::optional<double> limit = this->limit();
    if (limit && value > *limit) act(run, {step, value, *limit});
    // One spike must not hide the next. A new level must become the usual one.
    add(limit ? std::min(value, *limit) : value);
  }

  void save_state(belay::StateWriter& state) const override {
    state.put("seen", seen_);
    std::copy(
        window_.begin(), window_.end(),
        state.tensor("window", belay::DType::kFloat64, {static_cast<std::int64_t>(window_.size())}).data<double>());
    std::vector<std::int64_t> steps;
    std::vector<double> numbers;
    for (const Spike& s : spikes_) steps.push_back(s.step), numbers.insert(numbers.end(), {s.value, s.limit});
    state.put("spike_steps", steps);
    state.put("spike_numbers", numbers);
  }
  // Values of a window of another length are not comparable, so the window fills again.
  void load_state(const belay::StateReader& state) override {
    seen_ = 0;
    const belay::TensorView stored = state.tensor("window");
    if (stored.has_value() && stored.size() == window_.size()) {
      seen_ = state.integer("seen");
      std::copy_n(stored.data<const double>(), window_.size(), window_.begin());
    }
    spikes_.clear();
    const std::vector<std::int64_t> steps = state.integers("spike_steps");
    const std::vector<double> numbers = state.numbers("spike_numbers");
    for (std::size_t i = 0; i < steps.size() && 2 * i + 1 < numbers.size(); ++i)
      spikes_.push_back({steps[i], numbers[2 * i], numbers[2 * i + 1]});
  }

 private:
  struct Spike {
    std::int64_t step;
    double value;
    double limit;
  };
  static constexpr std::size_t kMaxSpikes = 1000;  // the last ones are kept

  // Returns the limit above which a value is a spike. Empty: the window is not full.
  std::optional<double> limit() const {
    if (seen_ < static_cast<std::int64_t>(window_.size())) return std::nullopt;
    double sum = 0, squares = 0;
    for (const double v : window_) sum += v;
    const double mean = sum / static_cast<double>(window_.size());
    for (const double v : window_) squares += (v - mean) * (v - mean);
    return mean + deviations_ * std::sqrt(squares / static_cast<double>(window_.size()));
  }
  void add(double value) {
    window_[static_cast<std::size_t>(seen_) % window_.size()] = value;
    ++seen_;
  }
  void act(belay::RunContext& run, const Spike& spike) {
    if (spikes_.size() == kMaxSpikes) spikes_.erase(spikes_.begin());
    spikes_.push_back(spike);
    const std::string text = "'" + scalar_.name(0) + "' jumps to " + belay::rounded_text(spike.value) + " at step " +
                             std::to_string(spike.step) + ", above " + belay::rounded_text(spike.limit) + " (" +
                             belay::rounded_text(deviations_) + " deviations of the last " +
                             std::to_string(window_.size()) + ")";
    belay::Events(host()).scalar("spike/" + scalar_.name(0), spike.step, spike.value);
    write();
    if (action_ == "fail") belay::fail(Code::kDiverged, text);
    if (action_ == "stop") run.request_stop(text);
    if (action_ == "warn") host().warning(text);
  }
  void write() {
    if (output_file_.empty() || host().run_directory().empty()) return;
    json list = json::array();
    for (const Spike& s : spikes_) list.push_back({{"global_step", s.step}, {"value", s.value}, {"limit", s.limit}});
    const std::string path = host().run_directory() + "/" + output_file_;
    belay::replace_or_warn(host(), path, list.dump(1) + "\n", warned_);
  }

  const double deviations_;
  const std::string action_;
  const std::int64_t start_from_step_;
  const std::string output_file_;
  belay::GlobalStep step_;
  belay::ScalarFetches scalar_;
  std::vector<double> window_;  // a ring: value n is at n % size
  std::int64_t seen_ = 0;
  std::vector<Spike> spikes_;
  bool warned_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", SpikeDetection)
