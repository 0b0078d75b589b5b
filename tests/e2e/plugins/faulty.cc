// SPDX-License-Identifier: Apache-2.0
// A plugin of each kind that fails in the callback which a test names, in the way that it names.
#include <belay/example_order.h>
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

struct FaultOptions {
  belay::Str in;  // the callback; empty: none
  belay::Str how = "runtime_error";
  std::int64_t at_call = 1;
  std::int64_t outside = 0;  // not 0: it does not fail, and writes so many bytes past its memory; negative: before it
};

// An exception whose what() returns null.
struct Mute : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

class Fault {
 public:
  explicit Fault(const FaultOptions& options) : options_(options) {}
  bool writes_outside() const { return options_.outside != 0; }
  // In a callback that got this memory.
  void outside(const char* callback, const void* data, std::uint64_t bytes) const {
    if (!writes_outside() || options_.in != callback || ++calls_ != options_.at_call) return;
    const std::int64_t n = options_.outside;
    char* begin = static_cast<char*>(const_cast<void*>(data));
    std::memset(n < 0 ? begin + n : begin + bytes, 0x41, static_cast<std::size_t>(n < 0 ? -n : n));
  }
  void in(const char* callback) const {
    if (writes_outside() || options_.in != callback || ++calls_ != options_.at_call) return;
    if (options_.how == "runtime_error") throw std::runtime_error("boom");
    if (options_.how == "string") throw std::string("boom");
    if (options_.how == "int") throw 42;
    if (options_.how == "bad_alloc") throw std::bad_alloc();
    if (options_.how == "mute") throw Mute();
    if (options_.how == "empty") throw std::runtime_error("");
    if (options_.how == "megabyte") throw std::runtime_error(std::string(1 << 20, 'x'));
    if (options_.how == "escapes") throw std::runtime_error("two\nlines \x1b[31m and \xff");
    while (options_.how == "hang") std::this_thread::sleep_for(std::chrono::seconds(1));
    if (options_.how == "out_of_range") belay::fail(belay::Code::kOutOfRange, "there is no node 7");
    if (options_.how == "stop") belay::fail(belay::Code::kStop, "enough");
    if (options_.how == "aborted") belay::fail(belay::Code::kAborted, "the connection was lost");
    belay::fail(belay::Code::kResourceExhausted, "no more room");
  }

 private:
  FaultOptions options_;
  mutable std::int64_t calls_ = 0;
};

constexpr auto in = belay::option("in", &FaultOptions::in, "the callback that fails").watching();
constexpr auto how = belay::option("how", &FaultOptions::how, "what it throws; hang: it does not return")
                         .watching()
                         .choices("runtime_error", "string", "int", "bad_alloc", "mute", "empty", "megabyte", "escapes",
                                  "aborted", "resource_exhausted", "out_of_range", "stop", "hang");
constexpr auto at_call = belay::option("at_call", &FaultOptions::at_call, "counted from 1").watching().min(1);
constexpr auto outside =
    belay::option("outside", &FaultOptions::outside, "bytes that it writes outside of what it got; 0: it fails")
        .watching();

class Faulty final : public belay::Hook {
 public:
  using Options = FaultOptions;
  static constexpr auto about = belay::about("faulty", "Fails where it is told", in, how, at_call, outside);
  explicit Faulty(const Options& options) : fault_(options) { fault_.in("create"); }

  void begin(belay::Graph& graph) override {
    fault_.in("begin");
    if (fault_.writes_outside()) loss_ = graph.fetch<float>("loss");
  }
  void after_create_session(belay::Session&) override { fault_.in("after_create_session"); }
  belay::RunArgs before_run(belay::RunContext&) override {
    fault_.in("before_run");
    if (fault_.writes_outside()) return {loss_};
    return {};
  }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    fault_.in("after_run");
    if (values.size() != 0) fault_.outside("after_run", values.result(0).data<const float>(), sizeof(float));
  }
  void end(belay::Session&) override { fault_.in("end"); }
  void before_save(belay::Session&, std::int64_t) override { fault_.in("before_save"); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    fault_.in("after_save");
    return false;
  }
  void on_error(const belay::Error&) override { fault_.in("on_error"); }
  void save_state(belay::StateWriter& state) const override {
    fault_.in("save_state");
    if (!fault_.writes_outside()) return;
    const belay::TensorView kept = state.tensor("kept", belay::DType::kFloat32, {4});
    std::memset(kept.mutable_data(), 0, kept.bytes());
    fault_.outside("save_state", kept.data(), kept.bytes());
  }
  void load_state(const belay::StateReader&) override { fault_.in("load_state"); }

 private:
  Fault fault_;
  belay::Fetch<float> loss_;
};

class FaultySaver final : public belay::Saver {
 public:
  using Options = FaultOptions;
  static constexpr auto about = belay::about("faulty_saver", "Fails where it is told", in, how, at_call, outside);
  explicit FaultySaver(const Options& options) : fault_(options) {}
  // A line for each tensor, and all their values.
  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    fault_.in("write");
    std::ostringstream list;
    belay::File data = directory.create("data");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, view] = tensors.get(i);
      list << name << ' ' << static_cast<int>(view.dtype()) << ' ' << view.rank();
      for (const std::int64_t d : view.dims()) list << ' ' << d;
      list << '\n';
      data.write(view.data(), view.bytes());
      fault_.outside("write", view.data(), view.bytes());
    }
    data.close();
    belay::File file = directory.create("list");
    file.write(list.str().data(), list.str().size());
    file.close();
  }
  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    fault_.in("read");
    const belay::File file = directory.open("list"), data = directory.open("data");
    std::string text(file.size(), ' ');
    file.read_at(0, text.data(), text.size());
    std::istringstream list(text);
    std::uint64_t at = 0;
    int dtype = 0, rank = 0;
    for (std::string name; list >> name >> dtype >> rank;) {
      belay::Dims dims(static_cast<std::size_t>(rank));
      std::uint64_t bytes = belay::dtype_size(static_cast<belay::DType>(dtype));
      for (std::int64_t& d : dims) {
        list >> d;
        bytes *= static_cast<std::uint64_t>(d);
      }
      void* memory = tensors.found(name, static_cast<belay::DType>(dtype), dims);
      if (memory != nullptr) {
        data.read_at(at, memory, bytes);
        fault_.outside("read", memory, bytes);
      }
      at += bytes;
    }
  }

 private:
  Fault fault_;
};

class FaultyInitFn final : public belay::InitFn {
 public:
  using Options = FaultOptions;
  static constexpr auto about = belay::about("faulty_init_fn", "Fails where it is told", in, how, at_call, outside);
  explicit FaultyInitFn(const Options& options) : fault_(options) {}
  void run(belay::Graph&, belay::Session&) override { fault_.in("run"); }

 private:
  Fault fault_;
};

class FaultyModel final : public belay::Model {
 public:
  using Options = FaultOptions;
  static constexpr auto about = belay::about("faulty_model", "Fails where it is told", in, how, at_call, outside);
  explicit FaultyModel(const Options& options) : fault_(options) {}
  void build(belay::ModelContext& model) override {
    fault_.in("build");
    belay::add_head(model, belay::ops::dense(belay::feature_matrix(model), 1, {}), "regression");
  }

 private:
  Fault fault_;
};

class FaultyInput final : public belay::Input {
 public:
  using Options = FaultOptions;
  static constexpr auto about = belay::about("faulty_input", "Fails where it is told", in, how, at_call, outside);
  explicit FaultyInput(const Options& options) : fault_(options) {}

  void spec(belay::InputSpec& spec) override {
    fault_.in("spec");
    x_ = spec.feature("x", belay::DType::kFloat32, {-1, 1});
    y_ = spec.label("y", belay::DType::kFloat32, {-1});
  }
  void open(const belay::OpenArgs& args) override {
    fault_.in("open");
    order_ = belay::ExampleOrder({64, 8, false, 0}, args);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    fault_.in("next");
    const auto rows = static_cast<std::int64_t>(order_.batch().size());
    float* x = batch.tensor(x_, {rows, 1}).data<float>();
    float* y = batch.tensor(y_, {rows}).data<float>();
    for (std::int64_t i = 0; i < rows; ++i) y[i] = x[i] = static_cast<float>(i);
    fault_.outside("next", x, static_cast<std::uint64_t>(rows) * sizeof(float));
    position = order_.advance();
    return true;
  }
  void seek(const belay::Position& position) override {
    fault_.in("seek");
    order_.seek(position);
  }
  std::int64_t size() const override {
    fault_.in("size");
    return 64;
  }

 private:
  Fault fault_;
  std::uint32_t x_ = 0, y_ = 0;
  belay::ExampleOrder order_;
};

}  // namespace

BELAY_MODULE("1.0.0", Faulty, FaultySaver, FaultyInitFn, FaultyModel, FaultyInput)
