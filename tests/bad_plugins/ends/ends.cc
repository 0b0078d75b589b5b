// SPDX-License-Identifier: Apache-2.0
// A hook, a saver, an init_fn, an op, a model and an input, which end their process where and how they are told.
#include <belay/example_order.h>
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

#include "endings.h"

namespace {

const bool loaded = [] {
  ends("load");
  return true;
}();

class EndsHook final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("ends", "Ends the process where it is told");
  EndsHook() { ends("hook.create"); }
  ~EndsHook() override { ends("hook.destroy"); }
  void begin(belay::Graph&) override { ends("hook.begin"); }
  void after_create_session(belay::Session&) override { ends("hook.after_create_session"); }
  belay::RunArgs before_run(belay::RunContext&) override {
    ends("hook.before_run");
    return {};
  }
  void after_run(belay::RunContext&, const belay::RunValues&) override {
    ends("hook.after_run");
    if (variable("ENDS_FAIL") != "") throw std::runtime_error("boom");
  }
  void end(belay::Session&) override { ends("hook.end"); }
  void before_save(belay::Session&, std::int64_t) override { ends("hook.before_save"); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    ends("hook.after_save");
    return false;
  }
  void on_error(const belay::Error&) override { ends("hook.on_error"); }
  void save_state(belay::StateWriter&) const override { ends("hook.save_state"); }
  void load_state(const belay::StateReader&) override { ends("hook.load_state"); }
};

class EndsSaver final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("ends_saver", "Ends the process where it is told");
  EndsSaver() { ends("saver.create"); }
  ~EndsSaver() override { ends("saver.destroy"); }
  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    belay::File file = directory.create("data");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, value] = tensors.get(i);
      std::string line = std::string(name) + " " + std::to_string(static_cast<int>(value.dtype())) + " " +
                         std::to_string(value.bytes());
      for (const std::int64_t d : value.dims()) line += " " + std::to_string(d);
      line += "\n";
      file.write(line.data(), line.size());
      file.write(value.data(), value.bytes());
    }
    ends("saver.write");
    file.close();
  }
  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    ends("saver.read");
    const belay::File file = directory.open("data");
    for (std::uint64_t at = 0; at < file.size();) {
      std::string line;
      for (char c = 0; file.read_at(at++, &c, 1), c != '\n';) line += c;
      std::istringstream in(line);
      std::string name;
      int dtype = 0;
      std::uint64_t bytes = 0;
      belay::Dims dims;
      in >> name >> dtype >> bytes;
      for (std::int64_t d = 0; in >> d;) dims.push_back(d);
      if (void* memory = tensors.found(name, static_cast<belay::DType>(dtype), dims)) file.read_at(at, memory, bytes);
      at += bytes;
    }
  }
};

class EndsInitFn final : public belay::InitFn {
 public:
  static constexpr auto about = belay::about("ends_init_fn", "Ends the process where it is told");
  EndsInitFn() { ends("init_fn.create"); }
  ~EndsInitFn() override { ends("init_fn.destroy"); }
  void run(belay::Graph&, belay::Session&) override { ends("init_fn.run"); }
};

class EndsOp final : public belay::Op {
 public:
  struct Options {
    bool unused = false;
  };
  static constexpr auto about = belay::about("ends_op", "The identity, which ends the process where it is told",
                                             belay::option("unused", &Options::unused, "nothing"));
  static constexpr auto traits = belay::OpTraits().elementwise();
  explicit EndsOp(const Options&) { ends("op.create"); }
  ~EndsOp() override { ends("op.destroy"); }
  void infer(belay::OpShapes& shapes) const override {
    ends("op.infer");
    shapes.output_like(0);
  }
  void prepare(const belay::OpSetup&) override { ends("op.prepare"); }
  void run(belay::OpRun& run) override {
    ends("op.run");
    ends("op.parallel");
    run.parallel(64, 1, [](std::int64_t begin, std::int64_t) { ends(begin == 0 ? "op.first_part" : "op.other_part"); });
    std::memcpy(run.output(0).data<float>(), run.input(0).data<const float>(), run.input(0).size() * sizeof(float));
  }
  void gradient(belay::OpGradient& g) const override {
    ends("op.gradient");
    g.set(0, g.grad());
  }
};

class EndsModel final : public belay::Model {
 public:
  static constexpr auto about = belay::about("ends_model", "Ends the process where it is told");
  EndsModel() { ends("model.create"); }
  ~EndsModel() override { ends("model.destroy"); }
  void build(belay::ModelContext& model) override {
    ends("model.build");
    const belay::Output x = belay::ops::dense(belay::feature_matrix(model), 1, {});
    belay::add_head(model, model.graph().node("EndsOp").in(x).output(), "regression");
  }
  bool initial_value(std::string_view, const belay::TensorView&) override {
    ends("model.initial_value");
    return false;
  }
};

class EndsInput final : public belay::Input {
 public:
  static constexpr auto about = belay::about("ends_input", "Ends the process where it is told");
  EndsInput() { ends("input.create"); }
  ~EndsInput() override { ends("input.destroy"); }
  void spec(belay::InputSpec& spec) override {
    ends("input.spec");
    x_ = spec.feature("x", belay::DType::kFloat32, {-1, 1});
    y_ = spec.label("y", belay::DType::kFloat32, {-1});
  }
  void open(const belay::OpenArgs& args) override {
    ends("input.open");
    order_ = belay::ExampleOrder({64, 8, false, 0}, args);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    ends("input.next");
    const auto rows = static_cast<std::int64_t>(order_.batch().size());
    float* x = batch.tensor(x_, {rows, 1}).data<float>();
    float* y = batch.tensor(y_, {rows}).data<float>();
    for (std::int64_t i = 0; i < rows; ++i) y[i] = x[i] = static_cast<float>(i) * 0.01f;
    position = order_.advance();
    return true;
  }
  void seek(const belay::Position& position) override {
    ends("input.seek");
    order_.seek(position);
  }
  std::int64_t size() const override {
    ends("input.size");
    return 64;
  }

 private:
  std::uint32_t x_ = 0, y_ = 0;
  belay::ExampleOrder order_;
};

}  // namespace

BELAY_MODULE("1.0.0", EndsHook, EndsSaver, EndsInitFn, EndsOp, EndsModel, EndsInput)
