// SPDX-License-Identifier: Apache-2.0
// An Op is an operation of a graph: a shape rule, a kernel and, if gradients shall pass through it, their rule.
//
//   class Swish final : public belay::Op {
//    public:
//     struct Options { double beta = 1; };                                 // the node's attributes
//     static constexpr auto about = belay::about("swish", "x * sigmoid(beta * x)",
//         belay::option("beta", &Options::beta, "steepness"));
//     static constexpr auto traits = belay::OpTraits().elementwise().in_place();
//     explicit Swish(const Options& o) : beta_(static_cast<float>(o.beta)) {}
//     void infer(belay::OpShapes& s) const override { s.need_dtype(0, belay::DType::kFloat32), s.output_like(0); }
//     void run(belay::OpRun& r) override { ... r.input(0).data<const float>() ... r.output(0).data<float>() ... }
//     void gradient(belay::OpGradient& g) const override { g.set(0, ...); }
//   };
//   BELAY_MODULE("1.0.0", Swish)
//
// In a graph its name is the plugin's in title case ("leaky_swish": "LeakySwish"), and a model uses it as any other:
// graph.node("Swish", "act").in(x).attr("beta", 1.5).output(). The attributes are checked as options are, from `about`.
// The operations of a library are there as soon as a run uses anything of that library; [[ops]] in the manifest names
// those that come alone.
//
// One object is one node: the host makes one when the node is added (infer), one per kernel (infer, prepare, run, run,
// ...) and one for its gradient. infer and gradient are [main] but for the infer before a kernel is made; objects of
// several nodes may be called at the same time, one object never. An operation is a function of its inputs and
// attributes (and of the step's counter, if it is random()): what must last from step to step belongs into a variable,
// which is saved, restored and resumed. Two nodes that are equal may be merged, one of constants may be computed once.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

#include "belay/detail/sized.h"
#include "belay/graph.h"
#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// What holds for every node of the operation. `static constexpr auto traits = belay::OpTraits()...;` in the class,
// below `public:`; one input and nothing else without it. The host plans by it: a trait that does not hold is a bug
// that `belay validate` looks for.
class OpTraits {
 public:
  // So many inputs in every node; the host checks the number before infer. 0 is allowed.
  constexpr OpTraits inputs(int n) const { return with(n, flags_, in_place_); }
  // infer says how many it takes.
  constexpr OpTraits any_inputs() const { return with(-1, flags_, in_place_); }
  // Output 0 has the broadcast shape of the inputs, and each of its elements comes from the inputs' at that place.
  constexpr OpTraits elementwise() const { return with(inputs_, flags_ | BELAY_OP_ELEMENTWISE, in_place_); }
  // run draws numbers from seed() and counter(): nodes are not merged, nor computed once.
  constexpr OpTraits random() const { return with(inputs_, flags_ | BELAY_OP_RANDOM, in_place_); }
  // The same inputs may have another result: it reads a clock, a file, a device. Nodes are not merged, nor computed
  // once.
  constexpr OpTraits stateful() const { return with(inputs_, flags_ | BELAY_OP_STATEFUL, in_place_); }
  // Output 0 may lie in the memory of this input (0..31): run reads an element before it writes the one at its place.
  constexpr OpTraits in_place(int input = 0) const { return with(inputs_, flags_, in_place_ | (1u << input)); }
  constexpr belay_op_traits raw() const { return {sizeof(belay_op_traits), flags_, inputs_, in_place_}; }

 private:
  static constexpr OpTraits with(int inputs, std::uint32_t flags, std::uint32_t in_place) {
    OpTraits t;
    t.inputs_ = inputs, t.flags_ = flags, t.in_place_ = in_place;
    return t;
  }
  int inputs_ = 1;
  std::uint32_t flags_ = 0;
  std::uint32_t in_place_ = 0;
};

// What infer sees and declares. An input's rank and dimensions may be unknown while the graph is built; an output's may
// be unknown then too, and must be known once all inputs are. For the call of infer. An input that the node does not
// have is INVALID_ARGUMENT in every function here.
class OpShapes {
 public:
  OpShapes(const belay_op_service* api, const belay_op_node& node, belay_op_outputs* outputs) noexcept
      : api_(api), node_(node), outputs_(outputs) {}

  // How many inputs the node has: as the traits say, or any number.
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(node_.n_inputs); }
  DType dtype(std::size_t i) const { return static_cast<DType>(at(i).dtype); }
  // -1: unknown.
  std::int32_t rank(std::size_t i) const { return at(i).rank; }
  // -1: unknown. A negative axis counts from the end.
  std::int64_t dim(std::size_t i, std::int32_t axis) const {
    const belay_tensor& t = at(i);
    if (t.rank < 0) return -1;
    const std::int32_t a = axis < 0 ? axis + t.rank : axis;
    if (a < 0 || a >= t.rank) fail(Code::kInvalidArgument, text(i) + " has no axis " + std::to_string(axis));
    return t.dims[a];
  }
  // With -1 for unknown dimensions; empty where the rank is unknown (see rank).
  Dims dims(std::size_t i) const { return at(i).rank <= 0 ? Dims{} : Dims(at(i).dims, at(i).dims + at(i).rank); }
  // "input 1 (float32 [2, ?])"
  std::string text(std::size_t i) const {
    return "input " + std::to_string(i) + " (" + dtype_name(dtype(i)) + " " + dims_text(at(i).dims, at(i).rank) + ")";
  }

  // Checks that say what was expected and found; the host puts the node's name in front. What is unknown passes, and is
  // checked again when a run has it.
  void need_inputs(std::size_t n) const {
    if (n_inputs() != n)
      fail(Code::kInvalidArgument, "expected " + std::to_string(n) + " inputs, got " + std::to_string(n_inputs()));
  }
  void need_rank(std::size_t i, std::int32_t rank) const {
    if (at(i).rank >= 0 && at(i).rank != rank)
      fail(Code::kInvalidArgument, text(i) + " must have " + std::to_string(rank) + " dimensions");
  }
  void need_dtype(std::size_t i, DType dtype) const { need_dtype(i, {dtype}); }
  // One of these dtypes.
  void need_dtype(std::size_t i, std::initializer_list<DType> allowed) const {
    std::string names;
    for (const DType t : allowed) {
      if (t == dtype(i)) return;
      names += (names.empty() ? "" : " or ") + std::string(dtype_name(t));
    }
    fail(Code::kInvalidArgument, text(i) + " must be " + names);
  }
  // Inputs i and j.
  void need_same_dtype(std::size_t i, std::size_t j) const {
    if (dtype(i) != dtype(j)) fail(Code::kInvalidArgument, text(i) + " and " + text(j) + " must have the same dtype");
  }
  // Inputs i and j, as far as both are known; nothing is broadcast.
  void need_same_shape(std::size_t i, std::size_t j) const {
    const belay_tensor &a = at(i), &b = at(j);
    bool same = a.rank < 0 || b.rank < 0 || a.rank == b.rank;
    for (std::int32_t d = 0; same && a.rank >= 0 && b.rank >= 0 && d < a.rank; ++d)
      same = a.dims[d] < 0 || b.dims[d] < 0 || a.dims[d] == b.dims[d];
    if (!same) fail(Code::kInvalidArgument, text(i) + " and " + text(j) + " must have the same shape");
  }

  // The next output, from 0; -1 for a dimension that is unknown still. No strings. At least one output, and the same
  // number of them for every node of the same attributes and inputs.
  void output(DType dtype, const Dims& dims) { output(dtype, static_cast<std::int32_t>(dims.size()), dims.data()); }
  // The next output, where not even the rank follows from what is known.
  void output_of_unknown_rank(DType dtype) { output(dtype, -1, nullptr); }
  // With dtype and shape of input i, as far as they are known.
  void output_like(std::size_t i) { output(dtype(i), at(i).rank, at(i).dims); }

 private:
  const belay_tensor& at(std::size_t i) const {
    if (i >= n_inputs())
      fail(Code::kInvalidArgument,
           "the node has " + std::to_string(n_inputs()) + " inputs, there is no input " + std::to_string(i));
    return node_.inputs[i];
  }
  void output(DType dtype, std::int32_t rank, const std::int64_t* dims) {
    detail::Status status;
    status.check(api_->output(outputs_, static_cast<std::int32_t>(dtype), rank, dims, status));
  }

  const belay_op_service* api_;
  const belay_op_node& node_;
  belay_op_outputs* outputs_;
};

// What prepare sees: every dimension of the inputs and outputs that all later runs have. For the call of prepare.
class OpSetup {
 public:
  explicit OpSetup(const belay_op_kernel_args& args) noexcept : args_(args) {}
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(args_.node->n_inputs); }
  std::size_t n_outputs() const noexcept { return static_cast<std::size_t>(args_.n_outputs); }
  // Dtype and dimensions; there is no data yet. i < n_inputs(), n_outputs().
  TensorView input(std::size_t i) const noexcept { return args_.node->inputs[i]; }
  TensorView output(std::size_t i) const noexcept { return args_.outputs[i]; }
  // How many threads a run has at most: for scratch memory of each of them.
  int threads() const noexcept { return args_.threads; }

 private:
  const belay_op_kernel_args& args_;
};

// One run: the inputs' elements, and the outputs to fill, all of them. Neither allocates nor checks: infer has done so.
class OpRun {
 public:
  OpRun(const belay_op_service* api, const belay_op_run& run, int threads, std::uint64_t seed) noexcept
      : api_(api), run_(run), threads_(threads), seed_(seed) {}
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(run_.n_inputs); }
  std::size_t n_outputs() const noexcept { return static_cast<std::size_t>(run_.n_outputs); }
  // i < n_inputs(), n_outputs(). Inputs are read-only; outputs hold arbitrary bytes at first, or with in_place() those
  // of the input. Memory is 64-byte aligned. Views are for this run.
  TensorView input(std::size_t i) const noexcept { return run_.inputs[i]; }
  TensorView output(std::size_t i) const noexcept { return run_.outputs[i]; }
  // For philox.h, of a random() operation: the key of this node's numbers, and the global step that counts them.
  std::uint64_t seed() const noexcept { return seed_; }
  std::uint64_t counter() const noexcept { return run_.counter; }
  // The size of the host's team: parallel() uses it.
  int threads() const noexcept { return threads_; }
  // Whether the run has been cancelled or is past its deadline. A run that takes long asks now and then and returns:
  // its outputs are not used.
  bool cancelled() const noexcept { return api_->cancelled(run_.context) != 0; }
  // Memory for this run alone: 64-byte aligned, not zeroed, the same from run to run as long as no run asks for more.
  // Valid until run returns; a second call replaces it. Null for 0 bytes.
  void* scratch(std::size_t bytes) const {
    void* memory = nullptr;
    detail::Status status;
    status.check(api_->scratch(run_.context, bytes, &memory, status));
    return memory;
  }

  // f(begin, end) for disjoint parts of [0, n), each of at least `grain` where n allows, on the host's threads; the
  // parts are the same in every run. Choose grain so that a part takes some 10 us at least. The first error that a part
  // throws comes out when all have ended. f must not call parallel, scratch or the graph.
  template <class F>
  void parallel(std::int64_t n, std::int64_t grain, F&& f) const {
    struct Work {
      F& f;
      std::atomic<bool> failed{false};
      std::exception_ptr error{};
      static void part(void* arg, std::int64_t begin, std::int64_t end) noexcept {
        Work& work = *static_cast<Work*>(arg);
        try {
          work.f(begin, end);
        } catch (...) {
          if (!work.failed.exchange(true)) work.error = std::current_exception();
        }
      }
    } work{f};
    detail::Status status;
    status.check(api_->parallel(run_.context, n, grain, &Work::part, &work, status));
    if (work.error) std::rethrow_exception(work.error);
  }

 private:
  const belay_op_service* api_;
  const belay_op_run& run_;
  int threads_;
  std::uint64_t seed_;
};

// Adds the nodes that compute the inputs' gradients from the incoming gradients of the outputs; see ops/ for the
// functions that make nodes. For the call of gradient. [main]
//
//   void gradient(belay::OpGradient& g) const override {                  of y = a * b
//     if (g.wanted(0)) g.set(0, g.grad() * g.input(1));
//     if (g.wanted(1)) g.set(1, g.grad() * g.input(0));
//   }
//
// An operation whose gradient is worth a kernel has a second Op for it, "swish_grad", in the same library:
// g.graph().node("SwishGrad").
class OpGradient {
 public:
  OpGradient(const belay_graph_api* api, const belay_op_gradient_args& args) noexcept
      : graph_(api, args.graph), args_(args) {}
  const Graph& graph() const noexcept { return graph_; }
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(args_.node->n_inputs); }
  std::size_t n_outputs() const noexcept { return static_cast<std::size_t>(args_.n_outputs); }
  // i < n_inputs(), n_outputs().
  Output input(std::size_t i) const noexcept { return graph_.output(args_.inputs[i]); }
  Output output(std::size_t i = 0) const noexcept { return graph_.output(args_.outputs[i]); }
  // The incoming gradient of output i, of its dtype and shape; empty where there is none.
  Output grad(std::size_t i = 0) const noexcept {
    return args_.output_gradients[i].graph == 0 ? Output() : graph_.output(args_.output_gradients[i]);
  }
  // False where input i's gradient is not used: then no node need be made for it.
  bool wanted(std::size_t i) const noexcept { return args_.wanted[i] != 0; }
  // The gradient of input i, of its dtype and shape (what was broadcast is summed: ops::sum_like). An input without one
  // passes none on.
  void set(std::size_t i, const Output& gradient) const noexcept { args_.input_gradients[i] = gradient.raw(); }

 private:
  Graph graph_;
  const belay_op_gradient_args& args_;
};

// A plugin of the kind "op". Calls, by object:
//
//   a node is added            constructor, infer, destructor
//   a kernel is made and used  constructor, infer, prepare, run, run, ..., destructor
//   a gradient is asked for    constructor, gradient, destructor
//
// So members hold what follows from the attributes and dimensions, never what one run leaves for the next.
class Op : public Plugin {
 public:
  // A class that differs has its own.
  static constexpr OpTraits traits{};

  // Checks the inputs and declares the outputs. A function of the inputs' dtypes and shapes and of the attributes: it
  // is called when the node is added, and again with all dimensions before a kernel is made.
  virtual void infer(OpShapes& shapes) const = 0;
  // Before the first run of a kernel, and again for other dimensions in another object: makes scratch memory, tables,
  // whatever run shall not. May be slow.
  virtual void prepare(const OpSetup& setup) { (void)setup; }
  // Fills the outputs. Allocates nothing, keeps nothing for the next run. An error ends the step, which then has
  // changed no variable.
  virtual void run(OpRun& run) = 0;
  // A class that does not override it has no gradient: asking for one is an error that names the node.
  virtual void gradient(OpGradient& gradient) const { (void)gradient; }
};

}  // namespace v0
}  // namespace belay
