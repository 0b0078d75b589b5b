// SPDX-License-Identifier: Apache-2.0
// A library with a plugin of each kind and options of each type, for the loader's tests.
#include <belay/plugin.h>

#include <string>

namespace {

constexpr std::int64_t kHidden[] = {128};

class SampleHook final : public belay::Hook {
 public:
  struct Options {
    bool at_end = false;
    std::int64_t every_n_iter = 100;
    double max = 10;
    belay::Str mode = "fast";
    belay::Path target;
    belay::List<std::int64_t> hidden = kHidden;
    belay::List<double> rates;
    belay::List<belay::Str> tensors;
    belay::List<belay::Path> files;
    belay::Table feeds;
  };
  static constexpr auto about = belay::about(
      "sample_hook", "Has an option of each type", belay::option("at_end", &Options::at_end, "once, when the run ends"),
      belay::option("every_n_iter", &Options::every_n_iter, "period in steps").min(1),
      belay::option("max", &Options::max, "stop above this").range(0, 1e30),
      belay::option("mode", &Options::mode, "how thorough").choices("fast", "slow"),
      belay::option("target", &Options::target, "where to write"),
      belay::option("hidden", &Options::hidden, "layer sizes").range(1, 4096),
      belay::option("rates", &Options::rates, "one per layer"),
      belay::option("tensors", &Options::tensors, "what to watch").required(),
      belay::option("files", &Options::files, "what to read"),
      belay::option("feeds", &Options::feeds, "values to feed"));
  explicit SampleHook(const Options& o) : options_(o) {
    host().info("made with " + std::to_string(o.tensors.size()) + " tensors, max " + std::to_string(o.max));
  }
  ~SampleHook() override { host().info("destroyed"); }
  void end(belay::Session&) override { belay::fail(belay::Code::kDataLoss, "no end"); }

 private:
  Options options_;
};

class SampleSaver final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("sample_saver", "Saves nothing");
  void write(belay::Directory&, const belay::TensorSource&) override {}
  void read(belay::Directory&, belay::TensorSink&) override {}
};

class SampleInitFn final : public belay::InitFn {
 public:
  static constexpr auto about = belay::about("sample_init_fn", "Initializes nothing");
  void run(belay::Graph&, belay::Session&) override {}
};

class SampleModel final : public belay::Model {
 public:
  static constexpr auto about = belay::about("sample_model", "Builds nothing");
  void build(belay::ModelContext&) override {}
};

class SampleInput final : public belay::Input {
 public:
  static constexpr auto about = belay::about("sample_input", "Delivers nothing");
  void spec(belay::InputSpec&) override {}
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch&, belay::Position&) override { return false; }
  void seek(const belay::Position&) override {}
};

}  // namespace

BELAY_MODULE("1.2.0", SampleHook, SampleSaver, SampleInitFn, SampleModel, SampleInput)
