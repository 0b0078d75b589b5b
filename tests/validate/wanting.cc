// SPDX-License-Identifier: Apache-2.0
// Plugins without a flaw that want something of the synthetic training in which they are tried.
#include <belay/checkpoint.h>
#include <belay/ops/reductions.h>
#include <belay/plugin.h>
#include <sys/stat.h>

#include <string>
#include <vector>

namespace {

namespace collections = belay::collections;

// As in docs/plugins/init_fn.md: its file is looked for in the constructor.
class WantsItsFile final : public belay::InitFn {
 public:
  struct Options {
    belay::Path from;
  };
  static constexpr auto about = belay::about("wants_its_file", "Takes all variables from a checkpoint",
                                             belay::option("from", &Options::from, "the checkpoint").required());
  explicit WantsItsFile(const Options& o) : from_(o.from) {
    struct stat s {};
    if (::stat(from_.c_str(), &s) != 0) belay::fail(belay::Code::kNotFound, "there is no '" + from_ + "'");
  }
  void run(belay::Graph&, belay::Session& session) override {
    const belay::Checkpoint checkpoint(host(), from_);
    for (const belay::VariableInfo& v : session.variables())
      if (checkpoint.find(v.name) != nullptr) session.assign(v.name, checkpoint.read(v.name));
  }

 private:
  const std::string from_;
};

// Watches every trainable variable and its gradient.
class WantsTrainables final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("wants_trainables", "Measures the trainable variables");
  void begin(belay::Graph& graph) override {
    measured_.clear();
    for (const char* name : {collections::kTrainableVariables, collections::kGradients})
      for (const belay::Output& tensor : graph.collection(name)) {
        const std::string mean = "mean_of/" + graph.node_name_of(tensor);
        belay::Output measured = graph.find_if_exists(mean);
        if (!measured) measured = belay::ops::reduce_mean(tensor, {}, false, mean);
        measured_.push_back(measured);
        measured_.push_back(tensor);
      }
    if (measured_.empty()) belay::fail(belay::Code::kNotFound, "the graph has no trainable variable");
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    for (const belay::Output& o : measured_) args.fetch(o);
    return args;
  }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    for (const belay::Output& o : measured_) sum_ += values[o].number(0);
  }

 private:
  std::vector<belay::Output> measured_;
  double sum_ = 0;
};

class WantsANumber final : public belay::Hook {
 public:
  struct Options {
    std::int64_t size = 0;
    double rate = 0;
  };
  static constexpr auto about = belay::about("wants_a_number", "Takes one number only",
                                             belay::option("size", &Options::size, "a square").required(),
                                             belay::option("rate", &Options::rate, "any"));
  explicit WantsANumber(const Options& o) {
    if (o.size != 784) belay::fail(belay::Code::kInvalidArgument, "'size' must be 784");
  }
};

}  // namespace

BELAY_MODULE("1.0.0", WantsItsFile, WantsTrainables, WantsANumber)
