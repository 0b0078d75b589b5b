// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "belay/error.h"
#include "runtime/ops/kernels/onednn_call.h"
#include "runtime/ops/kernels/onednn_primitives.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/product.h"

namespace belay::runtime {
namespace {

using Desc = dnnl::memory::desc;
using Type = dnnl::memory::data_type;

// In bf16 the operands are rounded in place; sums and result stay float32. oneDNN's kernels rearrange them block by
// block in the cache, which takes a tenth to a third more time. Its change of layout takes two to four times as long as
// the product. So the best layout pays only if b is kept in it.
class OnednnProduct final : public Product<float> {
 public:
  OnednnProduct(const ProductSizes& s, bool bias, Precision precision, const Version* b_version)
      : call_("matrix product"), alone_(runs_alone(s, precision, onednn::has_tiles())) {
    const std::optional<Team> team = own_team();
    const Desc a({s.m, s.k}, Type::f32, row_major(s.m, s.k, s.transpose_a));
    const Desc b({s.k, s.n}, Type::f32, row_major(s.k, s.n, s.transpose_b));
    const Desc c({s.m, s.n}, Type::f32, row_major(s.m, s.n, false));
    const Desc row({1, s.n}, Type::f32, row_major(1, s.n, false));
    const Type factor = precision == Precision::kBfloat16 ? Type::bf16 : Type::f32;
    const Desc plain_a({s.m, s.k}, factor, row_major(s.m, s.k, s.transpose_a));
    const Desc plain_b({s.k, s.n}, factor, row_major(s.k, s.n, s.transpose_b));
    const Desc any_a({s.m, s.k}, factor, dnnl::memory::format_tag::any);
    const Desc any_b({s.k, s.n}, factor, dnnl::memory::format_tag::any);

    Primitive primitive = describe(plain_a, b_version == nullptr ? plain_b : any_b, bias ? row : Desc(), c);
    if (factor == Type::bf16 && b_version == nullptr) {
      // If the best kernel needs another layout, the change is worth it.
      const Primitive best = describe(any_a, any_b, bias ? row : Desc(), c);
      if (std::string_view(best.impl_info_str()) != primitive.impl_info_str()) primitive = best;
    }
    call_.set<dnnl::matmul>(primitive);
    call_.add_input(DNNL_ARG_SRC, a, primitive.src_desc());
    call_.add_input(DNNL_ARG_WEIGHTS, b, primitive.weights_desc(), b_version);
    call_.add_output(DNNL_ARG_DST, c, primitive.dst_desc());
    if (bias) call_.add_input(DNNL_ARG_BIAS, row, row);
  }

  void run(const float* a, const float* b, const float* bias, float* c) override {
    const std::optional<Team> team = own_team();
    const std::array<void*, 4> tensors{const_cast<float*>(a), const_cast<float*>(b), c, const_cast<float*>(bias)};
    call_.run(tensors.data());
  }

 private:
  using Strides = dnnl::memory::dims;
  using Primitive = dnnl::matmul::primitive_desc;

  static Strides row_major(std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? Strides{1, rows} : Strides{columns, 1};
  }

  std::optional<Team> own_team() const { return alone_ ? std::optional<Team>(std::in_place, 1) : std::nullopt; }

  Primitive describe(const Desc& a, const Desc& b, const Desc& bias, const Desc& c) const {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return onednn::matmul(call_.engine(), a, b, bias, c, attr);
  }

  OnednnPlainCall call_;
  bool alone_;
};

}  // namespace

std::unique_ptr<Product<float>> make_onednn_product(const ProductSizes& sizes, bool bias, Precision precision,
                                                    const Version* b_version) {
  try {
    return std::make_unique<OnednnProduct>(sizes, bias, precision, b_version);
  } catch (const dnnl::error& e) {
    fail_onednn(fmt::format("matrix product of {} x {} and {} x {} in {}", sizes.m, sizes.k, sizes.k, sizes.n,
                            precision_name(precision)),
                e);
  }
}

}  // namespace belay::runtime
