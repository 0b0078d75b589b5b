// SPDX-License-Identifier: Apache-2.0
// Runs an operation without an engine: its shape rule on known and unknown shapes, its kernel on given values.
//
//   OpDriver swish(belay_module_swish, {{"beta", 1.5}});                          // the attributes of one node
//   EXPECT_EQ(swish.infer({{DType::kFloat32, {-1, 3}}}), "float32 [?, 3]");
//   const std::vector<Tensor> y = swish.run({Tensor({2}, {1.f, -1.f})});
//
// The driver throws an exception of the operation unchanged, as belay::Error. A violation of the contract is
// FAILED_PRECONDITION. run calls the kernel several times, on memory with different old contents and with guards after
// it. All runs must make the same bits and leave the inputs unchanged. Gradients need an engine: node_driver.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "belay/testing/driver_setup.h"
#include "belay/testing/option_values.h"
#include "belay/testing/plugin_library.h"

namespace belay {
inline namespace v0 {
namespace testing {

// Dtype and shape of an input, -1 for unknown dimensions.
struct OpInput {
  DType dtype = DType::kFloat32;
  Dims dims = {};
  bool rank_known = true;
};

class OpDriver {
 public:
  explicit OpDriver(const belay_module& module, const OptionValues& attrs = {}, const DriverSetup& setup = {})
      : OpDriver(find_table<belay_op_api>(module, setup.plugin), attrs, setup) {}
  explicit OpDriver(const belay_op_api* table, const OptionValues& attrs = {}, const DriverSetup& setup = {})
      : host_(setup.instance_name),
        has_gradient_(table->struct_size >= offsetof(belay_op_api, gradient) + sizeof(table->gradient) &&
                      table->gradient != nullptr),
        api_(detail::adopt(table)),
        attrs_(attrs.all()) {
    host_.set_service("op", &kService);
    for (const std::string& service : setup.without) host_.remove_service(service);
    handle_ = OptionValues().create(host_, &api_);
    if (!handle_) fail(Code::kFailedPrecondition, "create succeeded but gave no instance");
    if (table->struct_size < offsetof(belay_op_api, traits) + sizeof(table->traits) || table->traits == nullptr) return;
    detail::Status status;
    status.check(api_.traits(handle_.self(), &traits_, status));
    detail::check_sized(traits_, kFlags);
  }
  OpDriver(const OpDriver&) = delete;
  OpDriver& operator=(const OpDriver&) = delete;

  FakeHost& host() noexcept { return host_; }
  const belay_op_traits& traits() const noexcept { return traits_; }
  bool has_gradient() const noexcept { return has_gradient_; }

  // Number of threads of later kernels.
  int threads = 1;
  std::uint64_t seed = 42;
  std::uint64_t counter = 0;
  // The answer to cancelled() in later runs. Set it to test the reaction of run.
  bool cancelled = false;

  // The outputs as "float32 [?, 3], int64 []".
  std::string infer(const std::vector<OpInput>& inputs) {
    std::string text;
    for (const OpInput& o : infer_outputs(inputs))
      text += (text.empty() ? "" : ", ") + std::string(dtype_name(o.dtype)) + " " +
              dims_text(o.dims.data(), o.rank_known ? static_cast<std::int32_t>(o.dims.size()) : -1);
    return text;
  }
  std::vector<OpInput> infer_outputs(const std::vector<OpInput>& inputs) {
    const std::vector<belay_tensor> raw = described(inputs);
    const belay_op_node node = node_of(raw);
    std::vector<OpInput> outputs;
    detail::Status status;
    status.check(api_.infer(handle_.self(), &node, reinterpret_cast<belay_op_outputs*>(&outputs), status));
    return outputs;
  }

  // The outputs for these inputs.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    std::vector<OpInput> specs;
    for (const Tensor& t : inputs) specs.push_back({t.dtype(), t.dims()});
    const std::vector<OpInput> outputs = infer_outputs(specs);
    for (const OpInput& o : outputs)
      if (!o.rank_known || std::count(o.dims.begin(), o.dims.end(), -1) != 0)
        breach("infer gave the unknown shape " +
               dims_text(o.dims.data(), o.rank_known ? static_cast<std::int32_t>(o.dims.size()) : -1) +
               " although the shapes of all inputs are known");
    const Kernel kernel(*this, specs, outputs);
    const std::vector<Memory> first = run_once(kernel, inputs, outputs, 0xA5, -1);
    if (first != run_once(kernel, inputs, outputs, 0x5A, -1))
      breach(
          "run gave other bits when it was called again: it leaves elements unset, reads what was in the output, or "
          "keeps something from run to run");
    for (int i = 0; i < static_cast<int>(inputs.size()) && i < 32; ++i) {
      const OpInput& input = specs[static_cast<std::size_t>(i)];
      if (((traits_.in_place >> i) & 1) == 0 || outputs.empty() || bytes_of(input) != bytes_of(outputs[0])) continue;
      if (first != run_once(kernel, inputs, outputs, 0xA5, i))
        breach("run gave other bits when output 0 lay in the memory of input " + std::to_string(i) +
               ", as its traits allow");
    }
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Tensor value(outputs[i].dtype, outputs[i].dims);
      if (value.size() != 0)
        std::memcpy(TensorView(value.view()).mutable_data(), first[i].bytes.data(), bytes_of(outputs[i]));
      values.push_back(std::move(value));
    }
    return values;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  // Elements, and a guard after them.
  struct Memory {
    std::vector<unsigned char> bytes;
    friend bool operator==(const Memory& a, const Memory& b) { return a.bytes == b.bytes; }
  };
  struct Kernel {
    Kernel(OpDriver& driver, const std::vector<OpInput>& inputs, const std::vector<OpInput>& outputs)
        : d(driver), in(described(inputs)), out(described(outputs)) {
      const belay_op_node node = d.node_of(in);
      auto args = detail::sized<belay_op_kernel_args>();
      args.node = &node;
      args.outputs = out.data(), args.n_outputs = out.size();
      args.threads = d.threads;
      args.seed = d.seed;
      detail::Status status;
      status.check(d.api_.make_kernel(d.handle_.self(), &args, &raw, status));
      if (raw == nullptr) breach("make_kernel succeeded but gave no kernel");
    }
    ~Kernel() { d.api_.destroy_kernel(d.handle_.self(), raw); }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    OpDriver& d;
    std::vector<belay_tensor> in, out;
    void* raw = nullptr;
  };

  [[noreturn]] static void breach(const std::string& text) { fail(Code::kFailedPrecondition, text); }

  static std::size_t bytes_of(const OpInput& spec) {
    std::size_t n = dtype_size(spec.dtype);
    for (const std::int64_t d : spec.dims) n *= static_cast<std::size_t>(d);
    return n;
  }
  static std::vector<belay_tensor> described(const std::vector<OpInput>& specs) {
    std::vector<belay_tensor> raw;
    for (const OpInput& s : specs)
      raw.push_back(
          detail::described(s.dtype, s.rank_known ? static_cast<std::int32_t>(s.dims.size()) : -1, s.dims.data()));
    return raw;
  }
  belay_op_node node_of(const std::vector<belay_tensor>& inputs) const {
    auto node = detail::sized<belay_op_node>();
    node.name = detail::str("node");
    node.attrs = attrs_.data(), node.n_attrs = attrs_.size();
    node.inputs = inputs.data(), node.n_inputs = inputs.size();
    return node;
  }

  // The object that belay_op_context points at here.
  struct RunState {
    int threads;
    bool cancelled;
    std::vector<unsigned char> scratch;
  };
  static RunState& state_of(belay_op_context* context) { return *reinterpret_cast<RunState*>(context); }
  static void place(belay_tensor& t, Memory& memory, std::uint32_t flags) {
    t.bytes = memory.bytes.size() - kGuard;
    t.data = t.bytes == 0 ? nullptr : memory.bytes.data();
    t.flags = flags;
  }

  // Runs once. Output 0 uses the memory of input `shared`, unless that is negative.
  std::vector<Memory> run_once(const Kernel& kernel, const std::vector<Tensor>& inputs,
                               const std::vector<OpInput>& outputs, unsigned char before, int shared) {
    std::vector<belay_tensor> in = kernel.in, out = kernel.out;
    std::vector<Memory> given, made;
    for (const Tensor& t : inputs) {
      const TensorView view(t.view());
      given.push_back({std::vector<unsigned char>(view.bytes() + kGuard, kGuardByte)});
      if (view.bytes() != 0) std::memcpy(given.back().bytes.data(), view.data(), view.bytes());
    }
    const std::vector<Memory> unchanged = given;
    for (std::size_t i = 0; i < inputs.size(); ++i) place(in[i], given[i], BELAY_TENSOR_READ_ONLY);
    for (const OpInput& o : outputs) {
      made.push_back({std::vector<unsigned char>(bytes_of(o) + kGuard, before)});
      std::fill(made.back().bytes.end() - kGuard, made.back().bytes.end(), kGuardByte);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) place(out[i], made[i], 0);
    if (shared >= 0) out[0].data = in[static_cast<std::size_t>(shared)].data;

    RunState state{threads, cancelled, {}};
    auto args = detail::sized<belay_op_run>();
    args.inputs = in.data(), args.n_inputs = in.size();
    args.outputs = out.data(), args.n_outputs = out.size();
    args.counter = counter;
    args.context = reinterpret_cast<belay_op_context*>(&state);
    detail::Status status;
    status.check(api_.run(handle_.self(), kernel.raw, &args, status));

    if (shared >= 0) made[0] = given[static_cast<std::size_t>(shared)];
    for (std::size_t i = 0; i < made.size(); ++i)
      if (std::count(made[i].bytes.end() - kGuard, made[i].bytes.end(), kGuardByte) != kGuard)
        breach("run wrote past the end of output " + std::to_string(i));
    for (std::size_t i = 0; i < given.size(); ++i)
      if (static_cast<int>(i) != shared && !(given[i] == unchanged[i]))
        breach("run wrote to input " + std::to_string(i));
    return made;
  }

  static std::int32_t output(belay_op_outputs* outputs, std::int32_t dtype, std::int32_t rank, const std::int64_t* dims,
                             belay_status* status) {
    return detail::guard(status, [&] {
      const auto t = static_cast<DType>(dtype);
      if (dtype_size(t) == 0 || t == DType::kString)
        fail(Code::kInvalidArgument, "output: the dtype " + std::to_string(dtype) + " is none of a number");
      if (rank < -1 || std::any_of(dims, dims + std::max(rank, 0), [](std::int64_t d) { return d < -1; }))
        fail(Code::kInvalidArgument, "output: the shape " + dims_text(dims, rank) + " is none");
      reinterpret_cast<std::vector<OpInput>*>(outputs)->push_back(
          {t, rank <= 0 ? Dims{} : Dims(dims, dims + rank), rank >= 0});
    });
  }
  static std::int32_t parallel(belay_op_context* context, std::int64_t n, std::int64_t grain,
                               void (*body)(void*, std::int64_t, std::int64_t), void* arg, belay_status* status) {
    return detail::guard(status, [&] {
      if (n < 0 || grain < 1) fail(Code::kInvalidArgument, "parallel: grain must be at least 1, n at least 0");
      const std::int64_t parts = std::clamp<std::int64_t>(n / grain, 1, state_of(context).threads);
      const std::int64_t step = (n + parts - 1) / parts;
      std::vector<std::thread> team;
      for (std::int64_t begin = step; step != 0 && begin < n; begin += step)
        team.emplace_back(body, arg, begin, std::min(n, begin + step));
      if (n != 0) body(arg, 0, std::min(n, step));
      for (std::thread& t : team) t.join();
    });
  }
  static std::int32_t is_cancelled(belay_op_context* context) { return state_of(context).cancelled ? 1 : 0; }
  static std::int32_t scratch(belay_op_context* context, std::uint64_t bytes, void** memory, belay_status* status) {
    return detail::guard(status, [&] {
      std::vector<unsigned char>& room = state_of(context).scratch;
      room.assign(bytes + kGuard, kGuardByte);
      void* begin = room.data();
      std::size_t space = room.size();
      *memory = bytes == 0 ? nullptr : std::align(kGuard, static_cast<std::size_t>(bytes), begin, space);
    });
  }
  static constexpr belay_op_service kService{
      sizeof(belay_op_service), 0, &OpDriver::output, &OpDriver::parallel, &OpDriver::is_cancelled, &OpDriver::scratch};
  static constexpr std::uint32_t kFlags = BELAY_OP_ELEMENTWISE | BELAY_OP_RANDOM | BELAY_OP_STATEFUL;
  static constexpr unsigned char kGuardByte = 0xC3;

  FakeHost host_;
  bool has_gradient_;
  belay_op_api api_;
  belay_op_traits traits_{sizeof(belay_op_traits), 0, 1, 0};
  OpHandle handle_;
  RawOptions attrs_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
