#include <dnnl.hpp>

#include <array>
#include <string>
#include <vector>

#include "belay/error.h"
#include "runtime/ops/product.h"

namespace belay::runtime {
namespace {

// The primitive and its argument array are made once; a run sets the pointers that have changed and executes.
class OnednnProduct final : public Product<float> {
 public:
  OnednnProduct(const ProductSizes& s, bool bias) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using Type = dnnl::memory::data_type;
    const dnnl::memory::desc a({s.m, s.k}, Type::f32, s.transpose_a ? Strides{1, s.m} : Strides{s.k, 1});
    const dnnl::memory::desc b({s.k, s.n}, Type::f32, s.transpose_b ? Strides{1, s.k} : Strides{s.n, 1});
    const dnnl::memory::desc c({s.m, s.n}, Type::f32, Strides{s.n, 1});
    const dnnl::memory::desc row({1, s.n}, Type::f32, Strides{s.n, 1});
    const dnnl::matmul::desc desc = bias ? dnnl::matmul::desc(a, b, row, c) : dnnl::matmul::desc(a, b, c);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc primitive(desc, attr, engine_);
    product_ = dnnl::matmul(primitive);
    scratch_ = dnnl::memory(primitive.scratchpad_desc(), engine_);
    add_argument(DNNL_ARG_SRC, a);
    add_argument(DNNL_ARG_WEIGHTS, b);
    add_argument(DNNL_ARG_DST, c);
    if (bias) add_argument(DNNL_ARG_BIAS, row);
    for (const Argument& argument : arguments_) list_.push_back({argument.id, argument.memory.get()});
    list_.push_back({DNNL_ARG_SCRATCHPAD, scratch_.get()});
  }

  void run(const float* a, const float* b, const float* bias, float* c) override {
    const std::array<const float*, 4> data{a, b, c, bias};
    for (std::size_t i = 0; i < arguments_.size(); ++i) arguments_[i].point_at(data[i]);
    const dnnl_status_t status =
        dnnl_primitive_execute(product_.get(), stream_.get(), static_cast<int>(list_.size()), list_.data());
    if (status != dnnl_success)
      fail(Code::kInternal, "oneDNN's matrix product failed with status " + std::to_string(status));
  }

 private:
  using Strides = dnnl::memory::dims;
  struct Argument {
    int id;
    dnnl::memory memory;
    const float* data = nullptr;
    void point_at(const float* now) {
      if (now == data) return;
      memory.set_data_handle(const_cast<float*>(now));
      data = now;
    }
  };
  void add_argument(int id, const dnnl::memory::desc& desc) {
    arguments_.push_back({id, dnnl::memory(desc, engine_, nullptr)});
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  dnnl::memory scratch_;
  std::vector<Argument> arguments_;
  std::vector<dnnl_exec_arg_t> list_;
};

}  // namespace

std::unique_ptr<Product<float>> make_onednn_product(const ProductSizes& sizes, bool bias) {
  try {
    return std::make_unique<OnednnProduct>(sizes, bias);
  } catch (const dnnl::error& e) {
    fail(Code::kInternal, "oneDNN offers no matrix product of " + std::to_string(sizes.m) + " x " +
                              std::to_string(sizes.k) + " and " + std::to_string(sizes.k) + " x " +
                              std::to_string(sizes.n) + ": " + e.what());
  }
}

}  // namespace belay::runtime
