// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/plugin/plugin_op.h"

#include <fmt/core.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "belay/detail/sized.h"
#include "belay/philox.h"
#include "runtime/graph/call_with_graph.h"
#include "runtime/graph/graph_service.h"
#include "runtime/graph/kernel.h"
#include "runtime/graph/node_graph.h"
#include "runtime/graph/plugin_op.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/plugin/plugin_attrs.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/memory/guarded_memory.h"

namespace belay::runtime {
namespace {

using detail::guard;

const char* known_dtype(std::int32_t dtype) noexcept {
  const char* name = dtype_name(static_cast<DType>(dtype));
  return dtype_size(static_cast<DType>(dtype)) == 0 ? nullptr : name;
}

// The object that belay_op_outputs points to.
struct Outputs {
  std::vector<std::pair<DType, Shape>> specs;
};

std::int32_t output(belay_op_outputs* handle, std::int32_t dtype, std::int32_t rank, const std::int64_t* dims,
                    belay_status* status) {
  return guard(status, [&] {
    Outputs& outputs = *reinterpret_cast<Outputs*>(handle);
    const std::string which = fmt::format("output {}", outputs.specs.size());
    if (known_dtype(dtype) == nullptr)
      fail(Code::kInvalidArgument, fmt::format("{} has the unknown dtype {}", which, dtype));
    if (static_cast<DType>(dtype) == DType::kString)
      fail(Code::kInvalidArgument, which + " is a string; an operation of a plugin computes numbers");
    if (rank < -1 || rank > detail::kMaxRank || (rank > 0 && dims == nullptr))
      fail(Code::kInvalidArgument, fmt::format("{} has rank {}{}", which, rank,
                                               rank > 0 && rank <= detail::kMaxRank ? " and no dimensions" : ""));
    for (std::int32_t d = 0; d < rank; ++d)
      if (dims[d] < -1)
        fail(Code::kInvalidArgument, fmt::format("{} has the dimension {} on axis {}", which, dims[d], d));
    outputs.specs.emplace_back(static_cast<DType>(dtype), rank < 0 ? Shape::unknown() : Shape(dims, rank));
  });
}

// The object that belay_op_context points to.
struct OpContext {
  const int threads;
  const KernelContext* step = nullptr;  // of the current run
  DenseTensor scratch = {};
};
OpContext& from(belay_op_context* handle) noexcept { return *reinterpret_cast<OpContext*>(handle); }

std::int32_t parallel(belay_op_context* context, std::int64_t n, std::int64_t grain,
                      void (*body)(void* arg, std::int64_t begin, std::int64_t end), void* arg, belay_status* status) {
  return guard(status, [&] {
    if (n < 0 || grain < 1)
      fail(Code::kInvalidArgument,
           fmt::format("parallel: n = {}, grain = {}; grain must be at least 1, n at least 0", n, grain));
    if (n == 0) return;
    const ThreadOfCalls* call = PartOfCall::whole();
    parallel_for(n, grain, from(context).threads, [&](std::int64_t begin, std::int64_t end, int) {
      const PartOfCall part(call);
      if (begin < end) body(arg, begin, end);
    });
  });
}

std::int32_t cancelled(belay_op_context* context) {
  const KernelContext* step = from(context).step;
  return step != nullptr && step->cancel != nullptr && step->cancel->cancelled() ? 1 : 0;
}

std::int32_t scratch(belay_op_context* context, std::uint64_t bytes, void** memory, belay_status* status) {
  return guard(status, [&] {
    DenseTensor& held = from(context).scratch;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
    if (bytes > kMost) fail(Code::kResourceExhausted, fmt::format("scratch: there are no {} bytes of memory", bytes));
    if (!held || held.bytes() < bytes) held = DenseTensor(DType::kUInt8, {static_cast<std::int64_t>(bytes)});
    *memory = bytes == 0 ? nullptr : held.data();
  });
}

constexpr belay_op_service kOpService{sizeof(belay_op_service),
                                      0,
                                      checked<output, detail::name_of_op_output>,
                                      checked<parallel, detail::name_of_op_parallel>,
                                      checked<cancelled, detail::name_of_op_cancelled>,
                                      checked<scratch, detail::name_of_op_scratch>};

belay_op_node node_as_it_crosses(const std::string& name, const OptionValues& attrs,
                                 const std::vector<belay_tensor>& inputs) {
  auto node = detail::sized<belay_op_node>();
  node.name = detail::str(name);
  node.attrs = attrs.data();
  node.n_attrs = attrs.size();
  node.inputs = inputs.data();
  node.n_inputs = inputs.size();
  return node;
}

std::string spec_text(DType dtype, const Shape& shape) { return std::string(dtype_name(dtype)) + " " + shape.text(); }

[[noreturn]] void fail_at(const std::string& op, const std::string& node, Code code, const std::string& text) {
  fail(code, "node '" + node + "' (" + op + "): " + text);
}

// Puts guards around the outputs of one run of a kernel: copies of them, with the bytes that the plan's memory has.
class GuardedOutputs {
 public:
  // Points the outputs at their copies, and an input that shares the memory of an output too.
  GuardedOutputs(std::vector<belay_tensor>& inputs, std::vector<belay_tensor>& outputs) : outputs_(outputs) {
    for (belay_tensor& o : outputs_) {
      void* const planned = o.data;
      planned_.push_back(planned);
      copies_.emplace_back(planned == nullptr ? nullptr : allocate_guarded(o.bytes));
      if (copies_.back() == nullptr) continue;  // without elements, or without memory for a copy
      o.data = copies_.back().get();
      std::memcpy(o.data, planned, o.bytes);
      for (belay_tensor& i : inputs)
        if (i.data == planned) i.data = o.data;
    }
  }
  GuardedOutputs(const GuardedOutputs&) = delete;
  GuardedOutputs& operator=(const GuardedOutputs&) = delete;

  // Checks the guards, and moves the results to the plan's memory.
  void take() {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (copies_[i] == nullptr) continue;
      const std::size_t bytes = outputs_[i].bytes;
      if (!guards_hold(copies_[i].get(), bytes)) fail_outside(fmt::format("output {}", i), copies_[i].get(), bytes);
      std::memcpy(planned_[i], copies_[i].get(), bytes);
    }
  }

 private:
  struct Free {
    void operator()(void* data) const noexcept { free_guarded(data); }
  };
  std::vector<belay_tensor>& outputs_;
  std::vector<void*> planned_;
  std::vector<std::unique_ptr<void, Free>> copies_;
};

class PluginKernel final : public Kernel {
 public:
  PluginKernel(PluginInstance& instance, const KernelSpec& spec) : instance_(instance), context_{spec.threads} {
    const OptionValues attrs = check_attrs(instance_.plugin().info, spec.attrs());
    dims_.reserve(spec.inputs.size() + spec.outputs.size());  // the tensors point into it
    const auto tensor_of = [&](const TensorSpec& t) {
      dims_.push_back(t.dims);
      return detail::described(t.dtype, static_cast<std::int32_t>(t.dims.size()), dims_.back().data());
    };
    for (const TensorSpec& t : spec.inputs) inputs_.push_back(tensor_of(t));
    for (const TensorSpec& t : spec.outputs) outputs_.push_back(tensor_of(t));
    make(attrs, spec);
    if (kernel_ == nullptr)
      fail(Code::kInternal, instance_.label() + " in make_kernel: it returned no kernel (kernel is null)");
    // The tensors have elements from here on.
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].bytes = spec.inputs[i].bytes(), inputs_[i].flags = BELAY_TENSOR_READ_ONLY;
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].bytes = spec.outputs[i].bytes();
    run_.inputs = inputs_.data(), run_.n_inputs = inputs_.size();
    run_.outputs = outputs_.data(), run_.n_outputs = outputs_.size();
    run_.context = reinterpret_cast<belay_op_context*>(&context_);
  }
  ~PluginKernel() override {
    if (kernel_ != nullptr) instance_.release("destroy_kernel", &belay_op_api::destroy_kernel, kernel_);
  }

  void run(void* const* in, void* const* out, const KernelContext& context) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = inputs_[i].bytes == 0 ? nullptr : in[i];
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = outputs_[i].bytes == 0 ? nullptr : out[i];
    run_.counter = context.counter;
    context_.step = &context;
    if (guarded_runs_ != 0) return run_guarded();
    instance_.call("run", &belay_op_api::run, kernel_, static_cast<const belay_op_run*>(&run_));
  }

 private:
  // The plan's memory has no gaps. So the first runs get separate memory, and later ones cost nothing.
  void run_guarded() {
    --guarded_runs_;
    GuardedOutputs guarded(inputs_, outputs_);
    instance_.call_and_take(
        "run", &belay_op_api::run, [&] { guarded.take(); }, kernel_, static_cast<const belay_op_run*>(&run_));
  }
  void make(const OptionValues& attrs, const KernelSpec& spec) {
    const belay_op_node node = node_as_it_crosses(spec.node.name, attrs, inputs_);
    auto args = detail::sized<belay_op_kernel_args>();
    args.node = &node;
    args.outputs = outputs_.data(), args.n_outputs = outputs_.size();
    args.threads = spec.threads;
    args.seed = mix_key(spec.seed, stream_id(spec.node.name));
    instance_.call("make_kernel", &belay_op_api::make_kernel, static_cast<const belay_op_kernel_args*>(&args),
                   &kernel_);
  }

  PluginInstance& instance_;
  std::vector<Dims> dims_;
  std::vector<belay_tensor> inputs_, outputs_;
  OpContext context_;
  belay_op_run run_ = detail::sized<belay_op_run>();
  void* kernel_ = nullptr;
  int guarded_runs_ = 2;
};

class InstanceOp final : public PluginOp {
 public:
  // Asks the plugin for its traits.
  explicit InstanceOp(PluginInstance& instance);

  const belay_op_traits& traits() const noexcept { return traits_; }

  const std::string& label() const noexcept override { return instance_.label(); }
  void infer(InferContext& context) const override;
  void gradient(GradContext& context) const override;
  std::unique_ptr<Kernel> kernel(const KernelSpec& spec) const override {
    return std::make_unique<PluginKernel>(instance_, spec);
  }
  void check_outputs(const Node& node, const std::vector<std::pair<DType, Shape>>& outputs) const override;

 private:
  Port checked_gradient(const NodeGraph& graph, const belay_output& given, Port input, std::size_t i) const;

  PluginInstance& instance_;
  belay_op_traits traits_ = detail::sized<belay_op_traits>();
};

void infer_plugin(InferContext& c) { c.op().plugin->infer(c); }
void differentiate_plugin(GradContext& c) { c.node().op->plugin->gradient(c); }
std::unique_ptr<Kernel> make_plugin_kernel(const KernelSpec& spec) { return spec.node.op->plugin->kernel(spec); }

}  // namespace

std::string operation_name(std::string_view plugin) {
  std::string name;
  bool first = true;
  for (const char c : plugin) {
    if (c == '_' || c == '-' || c == '.') {
      first = true;
      continue;
    }
    name += first && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    first = false;
  }
  return name;
}

void add_plugin_op(OpRegistry& registry, PluginInstance& instance) {
  OpDef def;
  def.name = operation_name(instance.plugin().info.name);
  if (const OpDef* other = registry.find(def.name)) {
    const std::string whose = other->plugin == nullptr ? "the engine has it" : other->plugin->label() + " offers it";
    fail(Code::kAlreadyExists, instance.label() + " offers the operation '" + def.name + "', but " + whose +
                                   " already; give the plugin another name");
  }
  def.doc = instance.plugin().info.doc;
  const auto plugin = std::make_shared<InstanceOp>(instance);
  const belay_op_traits& traits = plugin->traits();
  def.plugin = plugin;
  def.n_inputs = traits.n_inputs;
  def.checks_attrs = true;
  def.effect = (traits.flags & (BELAY_OP_RANDOM | BELAY_OP_STATEFUL)) != 0 ? Effect::kRandom : Effect::kNone;
  def.elementwise = (traits.flags & BELAY_OP_ELEMENTWISE) != 0;
  def.in_place = traits.in_place;
  def.infer = infer_plugin;
  if (has_gradient(instance.table<belay_op_api>())) def.gradient = differentiate_plugin;
  def.kernel = make_plugin_kernel;
  registry.add(std::move(def));
}

InstanceOp::InstanceOp(PluginInstance& instance) : instance_(instance) {
  instance_.call("traits", &belay_op_api::traits, &traits_);
  const auto refuse = [&](const std::string& text) { fail(Code::kInvalidArgument, instance_.label() + ": " + text); };
  constexpr std::uint32_t kLater = BELAY_OP_BLOCKING | BELAY_OP_COLLECTIVE;
  if ((traits_.flags & kLater) != 0)
    refuse("its traits ask for " + std::string((traits_.flags & BELAY_OP_BLOCKING) != 0 ? "blocking" : "collective") +
           " runs, which this host does not have yet");
  if (traits_.n_inputs < -1)
    refuse(fmt::format("its traits have n_inputs = {}, must be -1 (any) or more", traits_.n_inputs));
  // If the operation takes any number of inputs, a node may have fewer, and then it does not use the permission.
  const int last = static_cast<int>(std::bit_width(traits_.in_place)) - 1;
  if (traits_.n_inputs >= 0 && last >= traits_.n_inputs)
    refuse(
        fmt::format("by its traits output 0 may use the memory of input {}, and its nodes have n_inputs = {}; in_place "
                    "names inputs from 0 to n_inputs - 1",
                    last, traits_.n_inputs));
  try {
    check_declared_attrs(instance_.plugin().info);
  } catch (const Error& e) {
    refuse(e.what());
  }
}

void InstanceOp::infer(InferContext& c) const {
  Outputs outputs;
  bool known = true;
  try {
    const OptionValues attrs = check_attrs(instance_.plugin().info, c.attrs());
    std::vector<belay_tensor> inputs;
    for (std::size_t i = 0; i < c.n_inputs(); ++i) {
      if (c.dtype(i) == DType::kString) fail(Code::kInvalidArgument, c.input_text(i) + " must be a number");
      inputs.push_back(detail::described(c.dtype(i), c.shape(i).rank(), c.shape(i).dims().data()));
      known = known && c.shape(i).fully_known();
    }
    const belay_op_node node = node_as_it_crosses(c.node_name(), attrs, inputs);
    instance_.call("infer", &belay_op_api::infer, &node, reinterpret_cast<belay_op_outputs*>(&outputs));
  } catch (const Error& e) {
    fail_at(c.op().name, c.node_name(), e.code(), e.what());
  }
  const std::string place = instance_.label() + " in infer: ";
  if (outputs.specs.empty()) c.fail(place + "it declared no output");
  for (std::size_t i = 0; i < outputs.specs.size(); ++i) {
    auto& [dtype, shape] = outputs.specs[i];
    if (known && !shape.fully_known())
      c.fail(fmt::format("{}output {} has the shape {} although the shapes of all inputs are known", place, i,
                         shape.text()));
    c.output(dtype, std::move(shape));
  }
}

void InstanceOp::check_outputs(const Node& node, const std::vector<std::pair<DType, Shape>>& outputs) const {
  const std::string place = instance_.label() + " in infer: ";
  if (outputs.size() != node.outputs.size())
    fail_at(node.op->name, node.name, Code::kInternal,
            fmt::format("{}it declared {} outputs when the node was added, and {} for the shapes of a run", place,
                        node.outputs.size(), outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [built_dtype, built_shape] = node.outputs[i];
    const auto& [dtype, shape] = outputs[i];
    if (dtype == built_dtype && Shape::compatible(shape, built_shape)) continue;
    fail_at(node.op->name, node.name, Code::kInternal,
            fmt::format("{}output {} was {} when the node was added, and is {} for the shapes of a run", place, i,
                        spec_text(built_dtype, built_shape), spec_text(dtype, shape)));
  }
}

// Checks the gradient of input i that the plugin returned.
Port InstanceOp::checked_gradient(const NodeGraph& graph, const belay_output& given, Port input, std::size_t i) const {
  const std::string place = fmt::format("{} in gradient: the gradient of input {}", instance_.label(), i);
  Port port;
  try {
    port = graph.resolve(given);
  } catch (const Error& e) {
    fail(e.code(), place + ": " + e.what());
  }
  if (port.index == BELAY_OPERATION) fail(Code::kInvalidArgument, place + " is an operation without a value");
  const auto& [dtype, shape] = graph.spec(port);
  const auto& [input_dtype, input_shape] = graph.spec(input);
  if (dtype != input_dtype || !Shape::compatible(shape, input_shape))
    fail(Code::kInvalidArgument, place + " is '" + graph.port_name(port) + "' (" + spec_text(dtype, shape) +
                                     "), the input is " + spec_text(input_dtype, input_shape));
  return port;
}

void InstanceOp::gradient(GradContext& c) const {
  NodeGraph& graph = from_handle(c.graph().raw());
  const Node& node = c.node();
  std::vector<belay_tensor> specs;
  // There is more room than inputs need. A value in the extra room shows that the plugin wrote beyond the end.
  constexpr std::size_t kBehind = 16;
  std::vector<belay_output> inputs, outputs, incoming, found(node.inputs.size() + kBehind, belay_output{0, 0, 0});
  std::vector<std::int32_t> wanted;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto& [dtype, shape] = graph.spec(node.inputs[i]);
    specs.push_back(detail::described(dtype, shape.rank(), shape.dims().data()));
    inputs.push_back(c.input(i).raw());
    wanted.push_back(c.wanted(i) ? 1 : 0);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    outputs.push_back(c.output(i).raw());
    incoming.push_back(c.grad(i) ? c.grad(i).raw() : belay_output{0, 0, 0});
  }
  try {
    const OptionValues attrs = check_attrs(instance_.plugin().info, node.attrs);
    const belay_op_node shown = node_as_it_crosses(node.name, attrs, specs);
    auto args = detail::sized<belay_op_gradient_args>();
    args.node = &shown;
    args.graph = c.graph().raw();
    args.inputs = inputs.data();
    args.outputs = outputs.data(), args.n_outputs = outputs.size();
    args.output_gradients = incoming.data();
    args.wanted = wanted.data();
    args.input_gradients = found.data();
    call_with_graph(graph, instance_, "gradient", &belay_op_api::gradient,
                    static_cast<const belay_op_gradient_args*>(&args));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].graph == 0) continue;
      if (i >= node.inputs.size())
        fail(Code::kInvalidArgument,
             fmt::format("{} in gradient: it gave one of input {}, and the node has {}; inputs count from 0",
                         instance_.label(), i, node.inputs.size()));
      c.set(i, graph.output(checked_gradient(graph, found[i], node.inputs[i], i)));
    }
  } catch (const Error& e) {
    fail_at(node.op->name, node.name, e.code(), e.what());
  }
}

const belay_op_service* op_service() noexcept { return &kOpService; }

}  // namespace belay::runtime
