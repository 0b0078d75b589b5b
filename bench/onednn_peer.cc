// SPDX-License-Identifier: Apache-2.0
// The matrix products and convolutions of a training step of a model of bench/models.cc, forward and backward, by
// oneDNN's own primitives on memory that lies as they like it, and one pass of Adam over its memory. Nothing else of
// the step. bench/models.py drives it; OMP_NUM_THREADS must be THREADS.
//
//   bench_onednn_peer MODEL THREADS
#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/rounds.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/onednn_primitives.h"

namespace {

using dnnl::memory;
using Desc = memory::desc;
using Type = memory::data_type;

// On a cache line's border, as a step's tensors are: without that the vector loads of oneDNN and Adam cross lines.
class Buffer {
 public:
  explicit Buffer(std::int64_t n) : size_(n), data_(new (std::align_val_t(64)) float[static_cast<std::size_t>(n)]) {
    std::fill(data(), data() + n, 0.01f);
  }
  float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::int64_t size_;
  std::unique_ptr<float[], Free> data_;
};

class Work {
 public:
  // y[m, n] = x[m, k] w[k, n] and its gradients; dx only on request. As in a step, x is the result of the previous
  // layer, the gradient of y takes its place, and Adam reads that of w in place. So the working set is no larger than
  // needed.
  void add_dense(std::int64_t m, std::int64_t k, std::int64_t n, bool with_dx = true) {
    Parameters& w = add_parameters(k * n);
    float* x = activation_size_ == m * k ? activation_ : buffer(m * k);
    float* y = buffer(m * n);
    add_product({m, k}, {k, 1}, {k, n}, {n, 1}, {x, w.var.data(), y});
    add_product({k, m}, {1, k}, {m, n}, {n, 1}, {x, y, w.gradient.data()});
    if (with_dx) add_product({m, n}, {n, 1}, {n, k}, {1, n}, {y, w.var.data(), buffer(m * k)});
    activation_ = y, activation_size_ = m * n;
    add_parameters(n);
  }
  // The products of `heads` heads with their gradients: scores and what they weigh.
  void add_attention(std::int64_t heads, std::int64_t time, std::int64_t width) {
    const auto product = [&](std::int64_t m, std::int64_t k, std::int64_t n, bool ta, bool tb) {
      add_product({heads, m, k}, ta ? Strides{m * k, 1, m} : Strides{m * k, k, 1}, {heads, k, n},
                  tb ? Strides{k * n, 1, k} : Strides{k * n, n, 1},
                  {buffer(heads * m * k), buffer(heads * k * n), buffer(heads * m * n)});
    };
    product(time, width, time, false, true);
    product(time, time, width, false, false);
    product(time, width, time, false, true);
    product(time, time, width, true, false);
    product(time, time, width, false, false);
    product(time, time, width, true, false);
  }
  // 5 x 5, the image's size kept, with its gradients.
  void add_convolution(std::int64_t batch, std::int64_t size, std::int64_t in, std::int64_t out, bool with_dx) {
    using namespace dnnl;
    namespace onednn = belay::runtime::onednn;
    const auto any = [](const memory::dims& dims) { return Desc(dims, Type::f32, memory::format_tag::any); };
    const Desc x = any({batch, in, size, size}), w = any({out, in, 5, 5}), y = any({batch, out, size, size});
    const onednn::Windows windows{{1, 1}, {0, 0}, {2, 2}, {2, 2}};
    const auto forward = onednn::convolution(engine_, x, w, Desc(), y, windows);
    add(convolution_forward(forward), {{DNNL_ARG_SRC, forward.src_desc()},
                                       {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                                       {DNNL_ARG_DST, forward.dst_desc()}});
    const auto weights = onednn::convolution_gradient<convolution_backward_weights>(engine_, x, w, y, windows, forward);
    add(convolution_backward_weights(weights), {{DNNL_ARG_SRC, weights.src_desc()},
                                                {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()},
                                                {DNNL_ARG_DIFF_DST, weights.diff_dst_desc()}});
    add_parameters((25 * in + 1) * out);
    if (!with_dx) return;
    const auto data = onednn::convolution_gradient<convolution_backward_data>(engine_, x, w, y, windows, forward);
    add(convolution_backward_data(data), {{DNNL_ARG_DIFF_SRC, data.diff_src_desc()},
                                          {DNNL_ARG_WEIGHTS, data.weights_desc()},
                                          {DNNL_ARG_DIFF_DST, data.diff_dst_desc()}});
  }
  struct Parameters {
    explicit Parameters(std::int64_t n) : var(n), m(n), v(n), gradient(n) {}
    Buffer var, m, v, gradient;
  };
  Parameters& add_parameters(std::int64_t n) { return parameters_.emplace_back(n); }

  void run();

 private:
  using Strides = memory::dims;
  struct Call {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  void add(const dnnl::primitive& primitive, const std::map<int, Desc>& arguments) {
    Call& call = calls_.emplace_back();
    call.primitive = primitive;
    for (const auto& [id, desc] : arguments) {
      memory m(desc, engine_);
      auto* data = static_cast<float*>(m.get_data_handle());
      std::fill(data, data + desc.get_size() / sizeof(float), 0.01f);
      call.arguments.emplace(id, m);
    }
  }
  float* buffer(std::int64_t n) { return buffers_.emplace_back(n).data(); }
  // data: a, b and their product.
  void add_product(const memory::dims& a, const Strides& a_strides, const memory::dims& b, const Strides& b_strides,
                   const std::array<float*, 3>& data) {
    memory::dims c = a;
    c.back() = b.back();
    Strides c_strides(c.size(), 1);
    for (std::size_t i = c.size() - 1; i-- > 0;) c_strides[i] = c_strides[i + 1] * c[i + 1];
    const Desc da(a, Type::f32, a_strides), db(b, Type::f32, b_strides), dc(c, Type::f32, c_strides);
    Call& call = calls_.emplace_back();
    call.primitive = dnnl::matmul(belay::runtime::onednn::matmul(engine_, da, db, Desc(), dc));
    call.arguments = {{DNNL_ARG_SRC, memory(da, engine_, data[0])},
                      {DNNL_ARG_WEIGHTS, memory(db, engine_, data[1])},
                      {DNNL_ARG_DST, memory(dc, engine_, data[2])}};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::deque<Call> calls_;
  std::deque<Parameters> parameters_;
  std::deque<Buffer> buffers_;
  float* activation_ = nullptr;  // the result of the last dense layer
  std::int64_t activation_size_ = 0;
};

BELAY_HOT void adam(float* var, float* m, float* v, const float* gradient, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    m[i] += 0.1f * (g - m[i]);
    v[i] += 0.001f * (g * g - v[i]);
    var[i] -= 0.001f * m[i] / (std::sqrt(v[i]) + 1e-8f);
  }
}

void Work::run() {
  for (Call& call : calls_) call.primitive.execute(stream_, call.arguments);
#pragma omp parallel
  for (Parameters& p : parameters_) {
    const std::int64_t n = p.var.size();
    const std::int64_t threads = omp_get_num_threads(), i = omp_get_thread_num();
    const std::int64_t begin = n * i / threads, end = n * (i + 1) / threads;
    adam(p.var.data() + begin, p.m.data() + begin, p.v.data() + begin, p.gradient.data() + begin, end - begin);
  }
}

bool add_model(Work& work, const std::string& name) {
  if (name == "mlp" || name == "mlp_512") {
    const std::int64_t batch = name == "mlp" ? 64 : 512;
    work.add_dense(batch, 784, 128, false);
    work.add_dense(batch, 128, 10);
  } else if (name == "mlp_wide") {
    work.add_dense(256, 1024, 1024, false);
    work.add_dense(256, 1024, 1024);
    work.add_dense(256, 1024, 1024);
    work.add_dense(256, 1024, 10);
  } else if (name == "cnn") {
    work.add_convolution(64, 28, 1, 32, false);
    work.add_convolution(64, 14, 32, 64, true);
    work.add_dense(64, 64 * 49, 1024);
    work.add_dense(64, 1024, 10);
  } else if (name == "transformer") {
    for (int layer = 0; layer < 2; ++layer) {
      work.add_dense(1024, 128, 384);
      work.add_attention(64, 64, 32);
      work.add_dense(1024, 128, 128);
      work.add_dense(1024, 128, 512);
      work.add_dense(1024, 512, 128);
      work.add_parameters(4 * 128);
    }
    work.add_dense(1024, 128, 96);
    work.add_parameters(96 * 128);
  } else {
    return false;
  }
  return true;
}

// As Belay does; gradients that shrink from round to round would take this program a hundred times as long instead.
void flush_denormals() {
#pragma omp parallel
  _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("use: bench_onednn_peer MODEL THREADS\n", stderr);
    return 2;
  }
  omp_set_num_threads(std::atoi(argv[2]));
  flush_denormals();
  Work work;
  if (!add_model(work, argv[1])) {
    std::fprintf(stderr, "bench_onednn_peer: there is no model '%s'\n", argv[1]);
    return 2;
  }
  rounds::answer([&] { work.run(); });
  return 0;
}
