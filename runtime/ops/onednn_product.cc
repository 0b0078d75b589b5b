#include <dnnl.hpp>

#include <array>
#include <string>

#include "belay/error.h"
#include "runtime/ops/onednn_call.h"
#include "runtime/ops/product.h"

namespace belay::runtime {
namespace {

using Desc = dnnl::memory::desc;
using Type = dnnl::memory::data_type;

// In bf16 the operands are rounded into the layout that oneDNN likes best; the sums and the result stay float32. In
// float32 that layout pays where b is kept in it.
class OnednnProduct final : public Product<float> {
 public:
  OnednnProduct(const ProductSizes& s, bool bias, Precision precision, const Version* b_version)
      : call_("matrix product") {
    const Desc a({s.m, s.k}, Type::f32, s.transpose_a ? Strides{1, s.m} : Strides{s.k, 1});
    const Desc b({s.k, s.n}, Type::f32, s.transpose_b ? Strides{1, s.k} : Strides{s.n, 1});
    const Desc c({s.m, s.n}, Type::f32, Strides{s.n, 1});
    const Desc row({1, s.n}, Type::f32, Strides{s.n, 1});
    const bool rounded = precision == Precision::kBfloat16;
    const auto wanted = [&](const Desc& plain, bool kept) {
      return rounded || kept ? Desc(plain.dims(), rounded ? Type::bf16 : Type::f32, dnnl::memory::format_tag::any)
                             : plain;
    };
    const Desc wanted_a = wanted(a, false), wanted_b = wanted(b, b_version != nullptr);
    const dnnl::matmul::desc desc =
        bias ? dnnl::matmul::desc(wanted_a, wanted_b, row, c) : dnnl::matmul::desc(wanted_a, wanted_b, c);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc primitive(desc, attr, call_.engine());
    call_.set(dnnl::matmul(primitive), primitive.scratchpad_desc());
    call_.add_input(DNNL_ARG_SRC, a, primitive.src_desc());
    call_.add_input(DNNL_ARG_WEIGHTS, b, primitive.weights_desc(), b_version);
    call_.add_output(DNNL_ARG_DST, c, primitive.dst_desc());
    if (bias) call_.add_input(DNNL_ARG_BIAS, row, row);
  }

  void run(const float* a, const float* b, const float* bias, float* c) override {
    const std::array<void*, 4> tensors{const_cast<float*>(a), const_cast<float*>(b), c, const_cast<float*>(bias)};
    call_.run(tensors.data());
  }

 private:
  using Strides = dnnl::memory::dims;
  OnednnPlainCall call_;
};

}  // namespace

std::unique_ptr<Product<float>> make_onednn_product(const ProductSizes& sizes, bool bias, Precision precision,
                                                    const Version* b_version) {
  try {
    return std::make_unique<OnednnProduct>(sizes, bias, precision, b_version);
  } catch (const dnnl::error& e) {
    fail(Code::kInternal, "oneDNN offers no matrix product of " + std::to_string(sizes.m) + " x " +
                              std::to_string(sizes.k) + " and " + std::to_string(sizes.k) + " x " +
                              std::to_string(sizes.n) + " in " + std::string(precision_name(precision)) + ": " +
                              e.what());
  }
}

}  // namespace belay::runtime
