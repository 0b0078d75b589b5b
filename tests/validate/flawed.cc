// SPDX-License-Identifier: Apache-2.0
// Plugins on the SDK that break one rule each, chosen by their option "flaw".
#include <belay/example_order.h>
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/ops/random.h>
#include <belay/plugin.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

class FlawedHook final : public belay::Hook {
 public:
  struct Options {
    belay::Str flaw;
  };
  static constexpr auto about =
      belay::about("flawed_hook", "Breaks one rule", belay::option("flaw", &Options::flaw, "which"));
  explicit FlawedHook(const Options& o) : flaw_(o.flaw) {
    if (flaw_ == "refuses") belay::fail(belay::Code::kInvalidArgument, "it never likes its options");
    if (flaw_ == "leaks a file in create") open_null();
    if (flaw_.size() > 1000) raise(SIGSEGV);  // a string that it was not made for
  }

  void begin(belay::Graph& graph) override {
    if (flaw_ == "wants another name") graph.find("no_such_tensor");
    if (flaw_ == "grows the graph") belay::ops::constant(graph, static_cast<float>(++begun_));
    loss_ = graph.fetch<float>("loss");
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{loss_};
    belay::RunOptions options;
    options.trace_level = static_cast<belay::RunOptions::Trace>(99);
    if (flaw_ == "traces at no level") args.options(options);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    ++steps_;
    if (flaw_ == "stops with no code")
      run.session().coordinator().request_stop(belay::Error(static_cast<belay::Code>(777), "enough"));
    if (flaw_ == "prints") std::puts("step");
    if (flaw_ == "crashes") raise(SIGSEGV);
    if (flaw_ == "aborts") std::abort();
    if (flaw_ == "exits") std::exit(0);
    if (flaw_ == "hangs") std::this_thread::sleep_for(std::chrono::hours(1));
    if (flaw_ == "changes the umask") ::umask(0);
    if (flaw_ == "changes the directory" && ::chdir("/") != 0) std::abort();
    if (flaw_ == "takes a signal") std::signal(SIGINT, SIG_IGN);
    if (flaw_ == "leaks a file") open_null();
    if (flaw_ == "leaks a thread" && steps_ == 1)
      std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
    if (flaw_ == "writes into a value") *static_cast<float*>(values.tensor(loss_).mutable_data()) = 7;
    if (flaw_ == "writes behind a value")
      std::memset(static_cast<float*>(values.tensor(loss_).mutable_data()) + 1, 0x41, 64);
    if (flaw_ == "fails") belay::fail(belay::Code::kInternal, "a bug of mine");
    if (flaw_ == "crashes at nan" && values[loss_] != values[loss_]) raise(SIGFPE);
  }
  void end(belay::Session&) override {
    if (flaw_ == "crashes in end") raise(SIGSEGV);
  }
  void on_error(const belay::Error&) override {
    if (flaw_ == "fails in on_error") belay::fail(belay::Code::kInternal, "not now");
  }
  void save_state(belay::StateWriter& state) const override {
    state.put("steps", steps_);
    float* window = state.tensor("window", belay::DType::kFloat32, {2}).data<float>();
    window[0] = flaw_ == "forgets the tensor" && loaded_ ? 0.0f : static_cast<float>(steps_);
    window[1] = 0.5f;
  }
  void load_state(const belay::StateReader& state) override {
    if (flaw_ == "forgets") return;
    if (flaw_ == "crashes at a foreign state" && state.integer("steps") < 0) raise(SIGSEGV);
    steps_ = state.integer("steps");
    const belay::TensorView window = state.tensor("window");
    if (flaw_ == "crashes at a foreign tensor" && window.has_value() && window.rank() != 1) raise(SIGSEGV);
    loaded_ = true;
  }

 private:
  static void open_null() {
    if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) std::abort();
  }

  const std::string flaw_;
  belay::Fetch<float> loss_;
  std::int64_t steps_ = 0;
  int begun_ = 0;
  bool loaded_ = false;
};

// A name that no base class has, and no `override` that would report it.
class MisspeltHook final : public belay::Hook {
 public:
  struct Options {
    belay::Str flaw;
  };
  static constexpr auto about =
      belay::about("misspelt_hook", "Misses its values", belay::option("flaw", &Options::flaw, "none"));
  explicit MisspeltHook(const Options&) {}

  void begin(belay::Graph& graph) override { loss_ = graph.fetch<float>("loss"); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  void after_runs(belay::RunContext&, const belay::RunValues& values) { last_ = values[loss_]; }

 private:
  belay::Fetch<float> loss_;
  float last_ = 0;
};

// Elements only, in one file: a cut file is read as far as it goes.
class FlawedSaver final : public belay::Saver {
 public:
  struct Options {
    belay::Str flaw;
  };
  static constexpr auto about =
      belay::about("flawed_saver", "Breaks one rule", belay::option("flaw", &Options::flaw, "which"));
  explicit FlawedSaver(const Options& o) : flaw_(o.flaw) {}

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    if (flaw_ == "writes nothing") return;
    belay::File file = directory.create("data");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, view] = tensors.get(i);
      const std::string line = std::string(name) + "\n";
      file.write(line.data(), line.size());
    }
    file.close();
  }
  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const belay::File file = directory.open("data");
    std::string text(file.size(), '\0');
    file.read_at(0, text.data(), text.size());
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      tensors.found(text.substr(begin, end - begin), belay::DType::kFloat32, {1});
      begin = end + 1;
    }
  }

 private:
  const std::string flaw_;
};

class FlawedInput final : public belay::Input {
 public:
  struct Options {
    belay::Str flaw;
  };
  static constexpr auto about =
      belay::about("flawed_input", "Breaks one rule", belay::option("flaw", &Options::flaw, "which"));
  explicit FlawedInput(const Options& o) : flaw_(o.flaw) {}

  void spec(belay::InputSpec& spec) override {
    x_ = spec.feature("x", belay::DType::kFloat32, {-1});
    if (flaw_.find("columns") != std::string::npos) pair_ = spec.feature("pair", belay::DType::kFloat32, {-1, 2});
    if (flaw_.find("label") != std::string::npos) label_ = spec.label("label", belay::DType::kInt64, {-1});
    const bool learned = spec.has_learned();
    if (flaw_ == "names no columns and no label") spec.set_classes(label_, 2);
    if (flaw_ == "learns no columns") spec.set_columns(pair_, {learned ? "c" : "a", "b"});
    if (flaw_ == "turns columns") spec.set_columns(pair_, {learned ? "b" : "a", learned ? "a" : "b"});
    if (flaw_ == "fits anew") spec.keep("mean", std::vector<double>{static_cast<double>(++fits_)});
    if (flaw_ == "scales what was learned") scale_ = learned ? 2.0f : 1.0f;
    fills_label_ = flaw_ != "predicts a label" || spec.use() != belay::InputUse::kPrediction;
    if (flaw_ == "has other classes") {
      y_ = spec.label("y", belay::DType::kInt64, {-1});
      spec.set_classes(y_, 10);
    }
  }
  void open(const belay::OpenArgs& args) override {
    if (flaw_ == "has no file") belay::fail(belay::Code::kNotFound, "'data.bin' does not exist");
    order_ = belay::ExampleOrder({10, 4, false, 1}, args);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    const auto examples = order_.batch();
    if (examples.empty() || (flaw_ == "ends at an interrupt" && interrupted_)) return false;
    const auto n = flaw_ == "has no rows" ? 0 : static_cast<std::int64_t>(examples.size());
    float* x = batch.tensor(x_, {n}).data<float>();
    if (flaw_ == "writes behind") std::memset(x + n, 0x41, 64);
    for (const std::int64_t e : examples)
      if (n > 0) *x++ = scale_ * static_cast<float>(flaw_ == "is never the same" ? ++calls_ : e);
    if (pair_ != 0) std::fill_n(batch.tensor(pair_, {n, 2}).data<float>(), 2 * n, 1.0f);
    if (label_ != 0 && fills_label_) std::fill_n(batch.tensor(label_, {n}).data<std::int64_t>(), n, 1);
    if (y_ != 0) std::fill_n(batch.tensor(y_, {n}).data<std::int64_t>(), n, 10);
    position = order_.advance();
    return true;
  }
  void interrupt() override { interrupted_ = true; }
  void seek(const belay::Position& position) override {
    order_.seek(flaw_ == "seeks to the start" ? belay::Position{} : position);
  }

 private:
  const std::string flaw_;
  std::uint32_t x_ = 0, pair_ = 0, label_ = 0, y_ = 0;  // all but x: only if there are some
  float scale_ = 1;
  bool fills_label_ = true, interrupted_ = false;
  belay::ExampleOrder order_;
  static inline int calls_ = 0, fits_ = 0;
};

class FlawedModel final : public belay::Model {
 public:
  struct Options {
    belay::Str flaw;
  };
  static constexpr auto about =
      belay::about("flawed_model", "Breaks one rule", belay::option("flaw", &Options::flaw, "which"));
  explicit FlawedModel(const Options& o) : flaw_(o.flaw) {}
  bool builds_any_mode() const { return flaw_ == "builds any mode"; }

  void build(belay::ModelContext& model) override {
    const belay::Output y = belay::ops::dense(belay::feature_matrix(model), 2, {});
    if (flaw_ == "climbs") {
      model.prediction("y", y);
      model.loss(0.0f - belay::ops::softmax_cross_entropy(y, model.label()));
    } else if (flaw_ == "predicts by other variables") {
      const belay::Output scale = belay::ops::variable(
          model.graph(), model.mode() == belay::Mode::kPredict ? "predicting" : "scale", belay::Tensor(1.0f));
      belay::add_head(model, y * scale, "classification");
    } else if (flaw_ == "predicts something else") {
      const float scale = model.mode() == belay::Mode::kPredict ? 2.0f : 1.0f;
      belay::add_head(model, y * scale, "classification");
    } else if (flaw_ == "counts what it evaluates") {
      const belay::Output seen = belay::ops::variable(model.graph(), "seen", belay::Tensor(1.0f));
      belay::add_head(model, y * seen, "classification");
      if (model.mode() == belay::Mode::kEval)
        model.metric("seen", seen, belay::ops::assign_add(seen, belay::ops::constant(model.graph(), 1.0f)));
    } else if (flaw_ == "predicts with labels") {
      belay::add_head(model, y, "classification");
      model.prediction("right", belay::ops::cast(model.label(), belay::DType::kFloat32));
    } else if (flaw_ == "predicts nothing") {
      model.loss(belay::ops::reduce_mean(belay::ops::square(y)));
    } else {
      belay::add_head(model, y, "classification");
    }
  }

 private:
  const std::string flaw_;
};

using FlawedModelThunks = belay::detail::Thunks<FlawedModel>;

// As a model without the SDK may do it, which does not look at the mode.
std::int32_t build_any_mode(void* self, const belay_model_args* args, belay_status* status) noexcept {
  belay_model_args changed = *args;
  if (changed.mode > BELAY_MODE_PREDICT && FlawedModelThunks::object(self).builds_any_mode())
    changed.mode = BELAY_MODE_TRAIN;
  return FlawedModelThunks::build(self, &changed, status);
}

}  // namespace

namespace belay {
inline namespace v0 {
namespace detail {
template <>
constexpr auto make_table<FlawedModel>() {
  belay_model_api table{};
  table.struct_size = sizeof(table);
  table.create = FlawedModelThunks::create;
  table.destroy = FlawedModelThunks::destroy;
  table.build = build_any_mode;
  return table;
}
}  // namespace detail
}  // namespace v0
}  // namespace belay

BELAY_MODULE("1.0.0", FlawedHook, MisspeltHook, FlawedSaver, FlawedInput, FlawedModel)
