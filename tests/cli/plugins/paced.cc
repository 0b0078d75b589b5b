// SPDX-License-Identifier: Apache-2.0
// An input and an operation that continue when the test lets them, one batch at a time.
#include <belay/ops/math.h>
#include <belay/ops/reductions.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace {

namespace ops = belay::ops;
using belay::DType;
using belay::Output;

// Two named pipes: NAME.waits gets a byte from here, then one is awaited in NAME.goes. Both ends of each are open for
// reading and writing, so that no open waits and nothing is lost.
class Gate {
 public:
  explicit Gate(const std::string& name)
      : waits_(::open((name + ".waits").c_str(), O_RDWR)), goes_(::open((name + ".goes").c_str(), O_RDWR)) {
    if (waits_ < 0 || goes_ < 0) belay::fail(belay::Code::kNotFound, "there are no pipes " + name);
  }
  ~Gate() {
    ::close(waits_);
    ::close(goes_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void pass() {
    char byte = 'x';
    if (::write(waits_, &byte, 1) != 1 || ::read(goes_, &byte, 1) != 1)
      belay::fail(belay::Code::kInternal, "the test is gone");
  }

 private:
  const int waits_;
  const int goes_;
};

class Paced final : public belay::Input {
 public:
  struct Options {
    belay::Path gate;
    std::int64_t batches = 0;
  };
  static constexpr auto about = belay::about("paced", "The number 1, so often",
                                             belay::option("gate", &Options::gate, "waits before each; unset: never"),
                                             belay::option("batches", &Options::batches, "0: for ever"));
  explicit Paced(const Options& o) : o_(o) {
    if (!o_.gate.empty()) gate_.emplace(o_.gate.string());
  }

  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("x", DType::kFloat32, {-1}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    if (o_.batches != 0 && at_ == o_.batches) return false;
    if (gate_) gate_->pass();
    batch.tensor(slot_, {1}).data<float>()[0] = 1;
    position = {0, ++at_};
    return true;
  }
  void seek(const belay::Position& position) override { at_ = position.index; }

 private:
  const Options o_;
  std::optional<Gate> gate_;
  std::uint32_t slot_ = 0;
  std::int64_t at_ = 0;
};

class PacedCopy final : public belay::Op {
 public:
  struct Options {
    belay::Str gate;
  };
  static constexpr auto about =
      belay::about("paced_copy", "Its input", belay::option("gate", &Options::gate, "waits in each run"));
  static constexpr auto traits = belay::OpTraits();
  explicit PacedCopy(const Options& o) : gate_(o.gate.string()) {}

  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void run(belay::OpRun& run) override {
    Gate(gate_).pass();
    run.output(0).data<float>()[0] = run.input(0).data<float>()[0];
  }

 private:
  const std::string gate_;
};

// In mode eval its loss goes through the operation, if there is a gate.
class PacedModel final : public belay::Model {
 public:
  struct Options {
    belay::Path gate;
  };
  static constexpr auto about =
      belay::about("paced_model", "A weight", belay::option("gate", &Options::gate, "of the evaluation's operation"));
  explicit PacedModel(const Options& o) : gate_(o.gate.string()) {}

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const Output weight = ops::variable(g, "weight", belay::Tensor(1.0f));
    Output loss = ops::reduce_mean(model.feature() * weight);
    if (model.mode() == belay::Mode::kEval && !gate_.empty())
      loss = g.node("PacedCopy").in(loss).attr("gate", gate_).output();
    model.loss(loss);
  }

 private:
  const std::string gate_;
};

}  // namespace

BELAY_MODULE("1.0.0", Paced, PacedCopy, PacedModel)
