// SPDX-License-Identifier: Apache-2.0
// Plugins that crash where only the random cases of `belay validate --fuzz` come; the first crashes nowhere.
#include <belay/example_order.h>
#include <belay/plugin.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Keeps its last values, and takes a state of any length that the note of its option allows.
class Sturdy : public belay::Hook {
 public:
  struct Options {
    std::int64_t window = 4;
  };
  static constexpr auto about =
      belay::about("sturdy", "Breaks no rule",
                   belay::option("window", &Options::window, "how many values it keeps").min(1).max(1'000'000));
  explicit Sturdy(const Options& o) : window_(static_cast<std::size_t>(o.window)) {}

  void begin(belay::Graph& graph) override { loss_ = graph.fetch<float>("loss"); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    last_.push_back(values[loss_]);
    if (last_.size() > window_) last_.erase(last_.begin());
  }
  void save_state(belay::StateWriter& state) const override { state.put("last", last_); }
  void load_state(const belay::StateReader& state) override {
    const std::vector<double> last = state.numbers("last");
    if (last.size() > window_) belay::fail(belay::Code::kInvalidArgument, "the state is of a larger window");
    last_ = last;
  }

 private:
  std::size_t window_;
  belay::Fetch<float> loss_;
  std::vector<double> last_;
};

// Believes that its state has as many values as it has seen.
class TrustsItsState final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("trusts_its_state", "Believes its state");
  void after_run(belay::RunContext&, const belay::RunValues&) override { ++seen_; }
  void save_state(belay::StateWriter& state) const override { state.put("seen", std::vector<std::int64_t>(3, seen_)); }
  void load_state(const belay::StateReader& state) override {
    const std::vector<std::int64_t> seen = state.integers("seen");
    if (seen.empty()) return;                   // there was no state
    if (seen.size() == 6) std::raise(SIGSEGV);  // past the end of its own values
    seen_ = seen[0];
  }

 private:
  std::int64_t seen_ = 0;
};

// Divides by the elements of a weight, and has never seen one without.
class TrustsItsShapes final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("trusts_its_shapes", "Believes that weights have elements");
  void begin(belay::Graph& graph) override { kernel_ = graph.find("dense/kernel"), graph.fetch(kernel_); }
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    args.fetch(kernel_);
    return args;
  }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    if (values[kernel_].size() == 0) std::raise(SIGFPE);
  }

 private:
  belay::Output kernel_;
};

// Waits for a step that it has passed.
class WaitsForAStep final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("waits_for_a_step", "Counts up to the global step");
  void begin(belay::Graph& graph) override { step_ = belay::GlobalStep(graph); }
  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch()}; }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    const std::int64_t step = step_.read(run.session());
    for (volatile std::int64_t counted = 0; counted < step;) counted = counted + 1;
  }

 private:
  belay::GlobalStep step_;
};

// Takes any position as its own.
class TrustsPositions final : public belay::Input {
 public:
  static constexpr auto about = belay::about("trusts_positions", "Believes positions");
  void spec(belay::InputSpec& spec) override { x_ = spec.feature("x", belay::DType::kFloat32, {-1}); }
  void open(const belay::OpenArgs& args) override { order_ = belay::ExampleOrder({40, 4, false, 1}, args); }
  bool next(belay::Batch& batch, belay::Position& position) override {
    const auto examples = order_.batch();
    if (examples.empty()) return false;
    float* x = batch.tensor(x_, {static_cast<std::int64_t>(examples.size())}).data<float>();
    for (const std::int64_t e : examples) *x++ = static_cast<float>(e);
    position = order_.advance();
    return true;
  }
  void seek(const belay::Position& position) override {
    if (position.index == 1000) std::abort();
    order_.seek(position);
  }

 private:
  std::uint32_t x_ = 0;
  belay::ExampleOrder order_;
};

// A file of this format has at least one byte.
class TrustsFiles final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("trusts_files", "Believes files");
  void write(belay::Directory& directory, const belay::TensorSource&) override {
    belay::File file = directory.create("data");
    file.write("data", 4);
    file.close();
  }
  void read(belay::Directory& directory, belay::TensorSink&) override {
    const belay::File file = directory.open("data");
    std::string text(file.size(), '\0');
    file.read_at(0, text.data(), text.size());
    if (text == "datadata") std::raise(SIGSEGV);
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Sturdy, TrustsItsState, TrustsItsShapes, WaitsForAStep, TrustsPositions, TrustsFiles)
