// SPDX-License-Identifier: Apache-2.0
// An Op is an operation of a graph: a shape rule, a kernel and, if gradients should pass through it, their rule.
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
// Its name in a graph is the plugin's name in title case ("leaky_swish": "LeakySwish"). A model uses it like any other:
// graph.node("Swish", "act").in(x).attr("beta", 1.5).output(). The host checks attributes like options, from `about`.
// The operations of a library are available when a run uses anything of the library. [[ops]] in the manifest names
// libraries that have operations only.
//
// One object is one node. The host makes an object when the node is added (infer), one per kernel (infer, prepare, run,
// run, ...) and one for its gradient. infer and gradient are [main], except for the infer before a kernel is made.
// Objects of several nodes may be called at the same time; calls of one object never overlap. An operation is a
// function of its inputs and attributes, and of the step's counter if it is random(). Keep state between steps in a
// variable: it is saved, restored and resumed. The host may merge equal nodes, and may compute a node of constants
// once.
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

// The properties of every node of the operation: `static constexpr auto traits = belay::OpTraits()...;` in the class,
// after `public:`. Without it a node has one input and no other trait. The host plans with these traits. `belay
// validate` searches for traits that are not true.
class OpTraits {
 public:
  // Sets the number of inputs of every node; 0 is allowed. The host checks it before infer.
  constexpr OpTraits inputs(int n) const { return with(n, flags_, in_place_); }
  // Allows any number of inputs; infer checks it.
  constexpr OpTraits any_inputs() const { return with(-1, flags_, in_place_); }
  // Declares that output 0 has the broadcast shape of the inputs. Each element depends only on the inputs' elements at
  // its place.
  constexpr OpTraits elementwise() const { return with(inputs_, flags_ | BELAY_OP_ELEMENTWISE, in_place_); }
  // Declares that run draws numbers from seed() and counter(). The host does not merge such nodes or compute them once.
  constexpr OpTraits random() const { return with(inputs_, flags_ | BELAY_OP_RANDOM, in_place_); }
  // Declares that equal inputs may have different results: it reads a clock, a file, a device. The host does not merge
  // such nodes or compute them once.
  constexpr OpTraits stateful() const { return with(inputs_, flags_ | BELAY_OP_STATEFUL, in_place_); }
  // Allows output 0 to use the memory of this input (0..31). Then run must read each element before it writes that
  // place.
  constexpr OpTraits in_place(int input = 0) const { return with(inputs_, flags_, in_place_ | (1u << input)); }
  // Returns the struct that crosses the boundary.
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

// The inputs that infer sees, and the outputs that it declares. An input's rank and dimensions may be unknown while the
// graph is built. Then an output's may be unknown too; they must be known when all inputs are. It is valid for the call
// of infer. INVALID_ARGUMENT in every function here: the node has no such input.
class OpShapes {
 public:
  OpShapes(const belay_op_service* api, const belay_op_node& node, belay_op_outputs* outputs) noexcept
      : api_(api), node_(node), outputs_(outputs) {}

  // Number of inputs of the node.
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(node_.n_inputs); }
  // Element type of input i.
  DType dtype(std::size_t i) const { return static_cast<DType>(at(i).dtype); }
  // Rank of input i; -1: unknown.
  std::int32_t rank(std::size_t i) const { return at(i).rank; }
  // Dimension of input i; -1: unknown. A negative axis counts from the end. INVALID_ARGUMENT: the axis does not exist.
  std::int64_t dim(std::size_t i, std::int32_t axis) const {
    const belay_tensor& t = at(i);
    if (t.rank < 0) return -1;
    const std::int32_t a = axis < 0 ? axis + t.rank : axis;
    if (a < 0 || a >= t.rank) fail(Code::kInvalidArgument, text(i) + " has no axis " + std::to_string(axis));
    return t.dims[a];
  }
  // Dimensions of input i, with -1 for unknown ones. Empty if the rank is unknown (see rank).
  Dims dims(std::size_t i) const { return at(i).rank <= 0 ? Dims{} : Dims(at(i).dims, at(i).dims + at(i).rank); }
  // The input for messages: "input 1 (float32 [2, ?])".
  std::string text(std::size_t i) const {
    return "input " + std::to_string(i) + " (" + dtype_name(dtype(i)) + " " + dims_text(at(i).dims, at(i).rank) + ")";
  }

  // Check inputs: INVALID_ARGUMENT names the expected and the actual value, and the host adds the node's name. Unknown
  // values pass, and are checked again when a run knows them.
  void need_inputs(std::size_t n) const {
    if (n_inputs() != n)
      fail(Code::kInvalidArgument, "expected " + std::to_string(n) + " inputs, got " + std::to_string(n_inputs()));
  }
  void need_rank(std::size_t i, std::int32_t rank) const {
    if (at(i).rank >= 0 && at(i).rank != rank)
      fail(Code::kInvalidArgument, text(i) + " must have " + std::to_string(rank) + " dimensions");
  }
  void need_dtype(std::size_t i, DType dtype) const { need_dtype(i, {dtype}); }
  // Input i must have one of these dtypes.
  void need_dtype(std::size_t i, std::initializer_list<DType> allowed) const {
    std::string names;
    for (const DType t : allowed) {
      if (t == dtype(i)) return;
      names += (names.empty() ? "" : " or ") + std::string(dtype_name(t));
    }
    fail(Code::kInvalidArgument, text(i) + " must be " + names);
  }
  // Inputs i and j must have one dtype.
  void need_same_dtype(std::size_t i, std::size_t j) const {
    if (dtype(i) != dtype(j)) fail(Code::kInvalidArgument, text(i) + " and " + text(j) + " must have the same dtype");
  }
  // Inputs i and j must have one shape, if both are known; nothing is broadcast.
  void need_same_shape(std::size_t i, std::size_t j) const {
    const belay_tensor &a = at(i), &b = at(j);
    bool same = a.rank < 0 || b.rank < 0 || a.rank == b.rank;
    for (std::int32_t d = 0; same && a.rank >= 0 && b.rank >= 0 && d < a.rank; ++d)
      same = a.dims[d] < 0 || b.dims[d] < 0 || a.dims[d] == b.dims[d];
    if (!same) fail(Code::kInvalidArgument, text(i) + " and " + text(j) + " must have the same shape");
  }

  // Declares the next output, from 0; -1: a dimension that is still unknown. Strings are not allowed. A node has at
  // least one output. Nodes with the same attributes and inputs have the same number of outputs.
  void output(DType dtype, const Dims& dims) { output(dtype, static_cast<std::int32_t>(dims.size()), dims.data()); }
  // Declares the next output if even its rank is still unknown.
  void output_of_unknown_rank(DType dtype) { output(dtype, -1, nullptr); }
  // Declares the next output with dtype and known shape of input i.
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

// The shapes that prepare sees: every dimension of the inputs and outputs in all later runs. It is valid for the call
// of prepare.
class OpSetup {
 public:
  explicit OpSetup(const belay_op_kernel_args& args) noexcept : args_(args) {}
  // Number of inputs, and of outputs.
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(args_.node->n_inputs); }
  std::size_t n_outputs() const noexcept { return static_cast<std::size_t>(args_.n_outputs); }
  // Dtype and dimensions, without data. i < n_inputs() or n_outputs(); it is not checked.
  TensorView input(std::size_t i) const noexcept { return args_.node->inputs[i]; }
  TensorView output(std::size_t i) const noexcept { return args_.outputs[i]; }
  // Largest number of threads of a run, for scratch memory of each thread.
  int threads() const noexcept { return args_.threads; }

 private:
  const belay_op_kernel_args& args_;
};

// One run: the inputs' elements, and the outputs, whose elements must all be written. The accessors neither allocate
// nor check: infer has checked. It is valid for the call of run.
class OpRun {
 public:
  OpRun(const belay_op_service* api, const belay_op_run& run, int threads, std::uint64_t seed) noexcept
      : api_(api), run_(run), threads_(threads), seed_(seed) {}
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(run_.n_inputs); }
  std::size_t n_outputs() const noexcept { return static_cast<std::size_t>(run_.n_outputs); }
  // Tensors of the run, valid until it returns. i < n_inputs() or n_outputs(). Inputs are read-only. Outputs hold
  // arbitrary bytes at first, or the input's with in_place(). Memory is 64-byte aligned.
  TensorView input(std::size_t i) const noexcept { return run_.inputs[i]; }
  TensorView output(std::size_t i) const noexcept { return run_.outputs[i]; }
  // For philox.h in a random() operation: the key of this node's numbers, and the global step as their counter.
  std::uint64_t seed() const noexcept { return seed_; }
  std::uint64_t counter() const noexcept { return run_.counter; }
  // Number of threads that parallel() uses at most.
  int threads() const noexcept { return threads_; }
  // True if the run was cancelled or is past its deadline. A long run asks at times and returns early; its outputs are
  // not used.
  bool cancelled() const noexcept { return api_->cancelled(run_.context) != 0; }
  // Returns memory for this run alone: 64-byte aligned, not zeroed. It stays allocated from run to run while no run
  // asks for more. Valid until run returns; a second call replaces it. Null for 0 bytes. RESOURCE_EXHAUSTED: not enough
  // memory.
  void* scratch(std::size_t bytes) const {
    void* memory = nullptr;
    detail::Status status;
    status.check(api_->scratch(run_.context, bytes, &memory, status));
    return memory;
  }

  // Calls f(begin, end) for disjoint parts of [0, n) on the host's threads, and returns when all parts have ended. Each
  // part has at least `grain` elements, if n allows it. The parts are the same in every run. Choose grain so that a
  // part takes at least about 10 us. The first exception of a part is thrown at the end. f must not call parallel,
  // scratch or the graph.
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

// Adds the nodes that compute the inputs' gradients from the incoming gradients of the outputs. The functions in ops/
// make nodes. It is valid for the call of gradient. [main]
//
//   void gradient(belay::OpGradient& g) const override {                  of y = a * b
//     if (g.wanted(0)) g.set(0, g.grad() * g.input(1));
//     if (g.wanted(1)) g.set(1, g.grad() * g.input(0));
//   }
//
// If a gradient needs its own kernel, make a second Op for it, "swish_grad", in the same library:
// g.graph().node("SwishGrad").
class OpGradient {
 public:
  OpGradient(const belay_graph_api* api, const belay_op_gradient_args& args) noexcept
      : graph_(api, args.graph), args_(args) {}
  // The graph to add nodes to, open.
  const Graph& graph() const noexcept { return graph_; }
  std::size_t n_inputs() const noexcept { return static_cast<std::size_t>(args_.node->n_inputs); }
  std::size_t n_outputs() const noexcept { return static_cast<std::size_t>(args_.n_outputs); }
  // The node's inputs and outputs. i < n_inputs() or n_outputs(); it is not checked.
  Output input(std::size_t i) const noexcept { return graph_.output(args_.inputs[i]); }
  Output output(std::size_t i = 0) const noexcept { return graph_.output(args_.outputs[i]); }
  // The incoming gradient of output i, of its dtype and shape; empty if there is none.
  Output grad(std::size_t i = 0) const noexcept {
    return args_.output_gradients[i].graph == 0 ? Output() : graph_.output(args_.output_gradients[i]);
  }
  // False if input i's gradient is not used: then make no node for it.
  bool wanted(std::size_t i) const noexcept { return args_.wanted[i] != 0; }
  // Sets the gradient of input i, of its dtype and shape. Sum over broadcast dimensions with ops::sum_like. An input
  // that is not set passes no gradient on.
  void set(std::size_t i, const Output& gradient) const noexcept { args_.input_gradients[i] = gradient.raw(); }

 private:
  Graph graph_;
  const belay_op_gradient_args& args_;
};

// The base of plugins of the kind "op". Calls, by object:
//
//   a node is added            constructor, infer, destructor
//   a kernel is made and used  constructor, infer, prepare, run, run, ..., destructor
//   a gradient is asked for    constructor, gradient, destructor
//
// So members may keep values that follow from attributes and dimensions, but no data from one run for the next.
class Op : public Plugin {
 public:
  // Default traits; a class with other traits declares its own.
  static constexpr OpTraits traits{};

  // Checks the inputs and declares the outputs. It depends only on the inputs' dtypes and shapes and on the attributes.
  // The host calls it when the node is added, and again with all dimensions before a kernel is made. [any]
  virtual void infer(OpShapes& shapes) const = 0;
  // Makes scratch memory and tables for run; it may be slow. It comes before the first run of a kernel. Other
  // dimensions get another object. [any]
  virtual void prepare(const OpSetup& setup) { (void)setup; }
  // Fills the outputs. It must not allocate, or keep data for the next run. A step in which it throws changes no
  // variable. [any]
  virtual void run(OpRun& run) = 0;
  // Adds the nodes of the gradient. A class that does not override it has no gradient: a request is an error with the
  // node's name. [main]
  virtual void gradient(OpGradient& gradient) const { (void)gradient; }
};

}  // namespace v0
}  // namespace belay
