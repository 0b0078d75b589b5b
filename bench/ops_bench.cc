// SPDX-License-Identifier: Apache-2.0
// Measures single operations through a session on one thread: GFLOP/s if they multiply, and GB/s (memory read and
// written once) if they only pass over their inputs. Each includes the cost of a run itself, which bench_session
// measures.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "belay/ops/attention.h"
#include "belay/ops/control.h"
#include "belay/ops/convolution.h"
#include "belay/ops/embedding.h"
#include "belay/ops/losses.h"
#include "belay/ops/normalization.h"
#include "belay/ops/pooling.h"
#include "belay/ops/recurrent.h"
#include "belay/ops/reductions.h"
#include "belay/ops/variables.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/file/cpu_features.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"

namespace belay::bench {
namespace {

struct Case {
  const char* name;
  std::vector<Dims> inputs;  // placeholders, float32
  std::function<Output(const Graph&, const std::vector<Output>&)> build;
  double flops = 0;  // 0: bytes are reported
  runtime::Precision precision = runtime::Precision::kFloat32;
  bool variable = false;  // input 1 is one, which is not written
};

std::vector<Case> cases() {
  using In = const std::vector<Output>&;
  using G = const Graph&;
  const ops::WindowOptions same{.padding = "SAME"};
  const std::vector<Dims> dense_dims{{64, 3136}, {3136, 1024}};
  const double dense_flops = 2.0 * 64 * 3136 * 1024;
  const auto dense = [](G, In x) { return ops::matmul(x[0], x[1]); };
  return {
      {"matmul_64", {{64, 784}, {784, 128}}, [](G, In x) { return ops::matmul(x[0], x[1]); }, 2.0 * 64 * 784 * 128},
      {"matmul_1024",
       {{256, 1024}, {1024, 1024}},
       [](G, In x) { return ops::matmul(x[0], x[1]); },
       2.0 * 256 * 1024 * 1024},
      // A dense layer as it is evaluated, with weights from outside and with those of a variable.
      {"dense_fed", dense_dims, dense, dense_flops},
      {"dense_kept", dense_dims, dense, dense_flops, runtime::Precision::kFloat32, true},
      {"dense_bf16_fed", dense_dims, dense, dense_flops, runtime::Precision::kBfloat16},
      {"dense_bf16_kept", dense_dims, dense, dense_flops, runtime::Precision::kBfloat16, true},
      {"matmul_1024_transposed",
       {{256, 1024}, {256, 1024}},
       [](G, In x) { return ops::matmul(x[0], x[1], true); },
       2.0 * 256 * 1024 * 1024},
      {"batch_matmul",
       {{64, 64, 32}, {64, 64, 32}},
       [](G, In x) { return ops::batch_matmul(x[0], x[1], false, true); },
       2.0 * 64 * 64 * 64 * 32},
      {"convolve2d",
       {{64, 14, 14, 32}, {5, 5, 32, 64}},
       [=](G, In x) { return ops::convolve2d(x[0], x[1], same); },
       2.0 * 64 * 14 * 14 * 64 * 25 * 32},
      {"lstm",
       {{32, 32, 64}, {64, 512}, {128, 512}, {512}},
       [](G, In x) { return ops::lstm(x[0], x[1], x[2], x[3]).y; },
       2.0 * 32 * 32 * 512 * (64 + 128)},
      {"self_attention",
       {{16, 64, 384}},
       [](G, In x) { return ops::self_attention(x[0], {.heads = 4}); },
       4.0 * 64 * 64 * 64 * 32},
      {"max_pool2d", {{64, 28, 28, 32}}, [](G, In x) { return ops::max_pool2d(x[0], 2); }},
      {"add", {{1 << 20}, {1 << 20}}, [](G, In x) { return x[0] + x[1]; }},
      {"tanh", {{1 << 20}}, [](G, In x) { return ops::tanh(x[0]); }},
      {"relu", {{1 << 20}}, [](G, In x) { return ops::relu(x[0]); }},
      {"reduce_sum", {{1024, 1024}}, [](G, In x) { return ops::reduce_sum(x[0]); }},
      {"reduce_sum_columns", {{1024, 1024}}, [](G, In x) { return ops::reduce_sum(x[0], {0}); }},
      {"softmax", {{1024, 1024}}, [](G, In x) { return ops::softmax(x[0]); }},
      {"layer_norm", {{1024, 128}, {128}, {128}}, [](G, In x) { return ops::layer_norm(x[0], x[1], x[2]); }},
      {"transpose", {{1024, 1024}}, [](G, In x) { return ops::transpose(x[0]); }},
  };
}

void measure(benchmark::State& state, const Case& c) {
  const auto registry = runtime::make_op_registry();
  runtime::NodeGraph nodes(*registry);
  const Graph g = nodes.handle();
  std::vector<Output> inputs;
  std::vector<Tensor> values;
  double bytes = 0;
  for (const Dims& dims : c.inputs) {
    const bool variable = c.variable && inputs.size() == 1;
    inputs.push_back(variable ? ops::variable(g, "w", ops::fill(g, dims, 0.5))
                              : ops::placeholder(g, DType::kFloat32, dims));
    values.emplace_back(dims, std::vector<float>(static_cast<std::size_t>(runtime::count_of(dims)), 0.5f));
    bytes += static_cast<double>(values.back().size()) * 4;
  }
  const Output y = c.build(g, inputs);
  bytes += static_cast<double>(runtime::count_of(y.dims())) * 4;
  nodes.finalize();
  std::vector<belay_feed> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!c.variable || i != 1) feeds.push_back({inputs[i].raw(), values[i].view()});
  runtime::DirectSessionOptions options;
  options.precision = c.precision;
  const auto session =
      std::make_shared<runtime::DirectSession>(nodes, std::make_shared<runtime::VariableStore>(), options);
  session->run_once(nodes.collection("variable_init"));
  runtime::FetchSet fetches(std::vector<FetchRef>{y});
  runtime::RunRequest request;
  request.fetches = &fetches;
  request.feeds = feeds;
  if (const std::string why = runtime::why_not(c.precision, runtime::CpuFeatures()); !why.empty()) {
    state.SkipWithError(why.c_str());
    return;
  }
  for (auto _ : state) session->run(request);
  const double amount = (c.flops > 0 ? c.flops : bytes) * static_cast<double>(state.iterations()) * 1e-9;
  state.counters[c.flops > 0 ? "GFLOP/s" : "GB/s"] = benchmark::Counter(amount, benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const auto& c : belay::bench::cases())
    benchmark::RegisterBenchmark(c.name, [c](benchmark::State& state) { belay::bench::measure(state, c); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
