// SPDX-License-Identifier: Apache-2.0
// Constants, placeholders, identity, and nodes that only order others.
#include <cmath>
#include <cstring>

#include "belay/ops/control.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/copy.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

void infer_const(InferContext& c) {
  const DenseTensor& value = c.attrs().tensor("value");
  c.output(value.dtype(), Shape(value.dims()));
}

void infer_placeholder(InferContext& c) {
  const DType dtype = c.attrs().dtype("dtype");
  c.output(dtype, c.attrs().flag("unknown_rank") ? Shape::unknown() : Shape(c.attrs().integers("shape")));
}

void infer_same(InferContext& c) { c.output(c.dtype(0), c.shape(0)); }

void infer_nothing(InferContext&) {}

void grad_identity(GradContext& c) { c.set(0, c.grad()); }

// Fails if a value is NaN or infinite, else returns the values unchanged.
template <class T>
class CheckNumericsKernel final : public Kernel {
 public:
  explicit CheckNumericsKernel(const KernelSpec& spec)
      : n_(spec.outputs[0].elements()), message_(spec.attrs().text("message")) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    bool nan = false, inf = false;
    for (std::int64_t i = 0; i < n_; ++i) {
      nan = nan || std::isnan(x[i]);
      inf = inf || std::isinf(x[i]);
    }
    if (nan || inf)
      fail(Code::kDiverged, message_ + ": the tensor has " + (nan ? "NaN" : "") + (nan && inf ? " and " : "") +
                                (inf ? "infinite" : "") + " values");
    if (out[0] != in[0] && n_ != 0) std::memcpy(out[0], x, static_cast<std::size_t>(n_) * sizeof(T));
  }

 private:
  std::int64_t n_;
  std::string message_;
};

std::unique_ptr<Kernel> make_check_numerics(const KernelSpec& spec) {
  if (spec.inputs[0].dtype == DType::kFloat64) return std::make_unique<CheckNumericsKernel<double>>(spec);
  return std::make_unique<CheckNumericsKernel<float>>(spec);
}

void infer_check_numerics(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), c.shape(0));
}

void grad_check_numerics(GradContext& c) { c.set(0, c.grad()); }

}  // namespace

void add_control_ops(OpRegistry& r) {
  r.add({.name = "Const",
         .doc = "The value of its attribute `value`.",
         .dtypes = "any",
         .attrs = {tensor_attr("value", "the constant")},
         .role = Role::kConstant,
         .infer = infer_const,
         .stops_gradient = true});
  r.add({.name = "Placeholder",
         .doc = "A value that every run must feed.",
         .dtypes = "any",
         .attrs = {dtype_attr("dtype", "of the value"),
                   shape_attr("shape", "of the value, -1 where a dimension is not known").defaults_to(Dims{}),
                   bool_attr("unknown_rank", "any shape may be fed, whatever `shape` is")},
         .role = Role::kPlaceholder,
         .infer = infer_placeholder,
         .stops_gradient = true});
  r.add({.name = "Identity",
         .doc = "Its input. Control inputs order it: of a variable, after a write, it is the new value.",
         .inputs = "x",
         .dtypes = "any",
         .n_inputs = 1,
         .role = Role::kIdentity,
         .alias = true,
         .infer = infer_same,
         .gradient = grad_identity,
         .kernel = make_copy});
  r.add({.name = "StopGradient",
         .doc = "Its input, through which no gradient passes.",
         .inputs = "x",
         .dtypes = "any",
         .n_inputs = 1,
         .alias = true,
         .infer = infer_same,
         .stops_gradient = true,
         .kernel = make_copy});
  r.add({.name = "NoOp",
         .doc = "Nothing; its control inputs run before it.",
         .infer = infer_nothing,
         .stops_gradient = true});
  r.add({.name = "CheckNumerics",
         .doc = "Its input; a NaN or infinity in it ends the run as DIVERGED with `message`.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .attrs = {string_attr("message", "what the error begins with").defaults_to("")},
         .in_place = 1,
         .infer = infer_check_numerics,
         .gradient = grad_check_numerics,
         .kernel = make_check_numerics});
}

}  // namespace belay::runtime
