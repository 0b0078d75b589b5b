// SPDX-License-Identifier: Apache-2.0
// session.precision = "bf16": what changes, by how much at the most, and what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/matmul.h"
#include "belay/ops/recurrent.h"
#include "plugins/default_plugins.h"
#include "runtime/loader/file/cpu_features.h"
#include "tests/session/linked_run.h"
#include "tests/session/session_fixture.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::runtime::testing {
namespace {

// Why bf16 cannot be tried here; empty: it can.
std::string why_not_here() {
  const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (limit != nullptr) return std::string("ONEDNN_MAX_CPU_ISA=") + limit + " holds oneDNN back";
  return why_not(Precision::kBfloat16, CpuFeatures());
}
#define SKIP_WITHOUT_BF16() \
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason

class PrecisionTest : public SessionTest {
 protected:
  // a [64, 64] times itself; all elements of a are the same.
  float product_of(float element, Precision precision) {
    const Output a = ops::placeholder(g, DType::kFloat32, {64, 64}, "a");
    const Output c = ops::matmul(a, a);
    DirectSessionOptions options;
    options.precision = precision;
    open(std::move(options));
    return values<float>(c, {{a, Tensor({64, 64}, std::vector<float>(64 * 64, element))}}).front();
  }
};

constexpr float kBetweenTwoOfBf16 = 1.0f + 1.0f / 512;  // bfloat16 has 8 bits: the next after 1 is 1 + 1/128

TEST_F(PrecisionTest, Float32KeepsAllBits) {
  EXPECT_EQ(product_of(kBetweenTwoOfBf16, Precision::kFloat32), 64 * kBetweenTwoOfBf16 * kBetweenTwoOfBf16);
}

TEST_F(PrecisionTest, Bf16RoundsWhatIsMultiplied) {
  SKIP_WITHOUT_BF16();
  EXPECT_EQ(product_of(kBetweenTwoOfBf16, Precision::kBfloat16), 64);
}

// Returns the values of an operation and its gradients on a separate graph, one after the other; the inputs have these
// dims. Their elements are not 0 on average, or the sums would be mere rounding.
struct PrecisionCase {
  const char* name;
  std::vector<Dims> inputs;
  Output (*build)(const std::vector<Output>&);
};
std::vector<std::vector<float>> results_of(const PrecisionCase& c, Precision precision) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  std::vector<Output> inputs;
  std::vector<std::pair<Output, Tensor>> feeds;
  for (const Dims& dims : c.inputs) {
    inputs.push_back(ops::placeholder(graph.handle(), DType::kFloat32, dims));
    Tensor t(DType::kFloat32, dims);
    for (std::size_t i = 0; i < t.size(); ++i)
      t.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i * 7 + inputs.size())) + 0.5) / 4;
    feeds.emplace_back(inputs.back(), std::move(t));
  }
  const Output y = c.build(inputs);
  std::vector<FetchRef> fetches = {y};
  for (const Output& gradient : graph.handle().gradients({y}, inputs)) fetches.emplace_back(gradient);
  graph.finalize();
  DirectSessionOptions options;
  options.precision = precision;
  DirectSession session(graph, std::make_shared<VariableStore>(), std::move(options));
  const RunResult r = session.handle().run(fetches, feeds);
  std::vector<std::vector<float>> results;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const TensorView t = r[i];
    results.emplace_back(t.data<const float>(), t.data<const float>() + t.size());
  }
  return results;
}

// The multiplied numbers have 8 bits: a result is off by little of the largest one, but by more than float32 would be.
TEST(Precision, ProductsOfBatchesAndRecurrentCellsAreRoundedAndClose) {
  SKIP_WITHOUT_BF16();
  for (const PrecisionCase& c :
       {PrecisionCase{"BatchMatMul",
                      {{2, 130, 140}, {2, 140, 150}},
                      [](const std::vector<Output>& in) { return ops::batch_matmul(in[0], in[1]); }},
        PrecisionCase{"Lstm",
                      {{8, 12, 40}, {40, 4 * 33}, {33, 4 * 33}, {4 * 33}},
                      [](const std::vector<Output>& in) { return ops::lstm(in[0], in[1], in[2], in[3]).y; }},
        PrecisionCase{"Gru",
                      {{8, 12, 40}, {40, 3 * 33}, {33, 3 * 33}, {3 * 33}, {3 * 33}},
                      [](const std::vector<Output>& in) { return ops::gru(in[0], in[1], in[2], in[3], in[4]).y; }}}) {
    const std::vector<std::vector<float>> exact = results_of(c, Precision::kFloat32);
    const std::vector<std::vector<float>> rounded = results_of(c, Precision::kBfloat16);
    ASSERT_EQ(exact.size(), c.inputs.size() + 1);
    for (std::size_t o = 0; o < exact.size(); ++o) {
      SCOPED_TRACE(c.name + std::string(o == 0 ? ", result" : ", gradient of input " + std::to_string(o - 1)));
      ASSERT_EQ(exact[o].size(), rounded[o].size());
      float largest = 0, difference = 0;
      for (std::size_t i = 0; i < exact[o].size(); ++i) {
        ASSERT_TRUE(std::isfinite(rounded[o][i])) << i;
        largest = std::max(largest, std::fabs(exact[o][i]));
        difference = std::max(difference, std::fabs(exact[o][i] - rounded[o][i]));
      }
      EXPECT_LT(difference, 0.02f * largest);
      EXPECT_GT(difference, 1e-5f * largest);
    }
  }
}

// The loss after so many steps of the digits, mean of the last fifty.
double final_loss(const std::string& precision) {
  std::vector<const belay_module*> modules = default_plugins();
  modules.insert(modules.end(), {&belay_module_digits, &belay_module_mlp});
  LinkedRun run(
      "[run]\nthreads = 1\n[input.train]\nplugin = \"digits\"\nsplit = \"train\"\nbatch_size = 64\n"
      "[model]\nplugin = \"mlp\"\n[optimizer]\nname = \"adam\"\n[session]\nprecision = \"" +
          precision + "\"\n",
      modules);
  MonitoredSession& session = run.start();
  double sum = 0;
  session.scope([&] {
    FetchSet fetches(std::vector<FetchRef>{run.model().train_op, run.model().loss});
    RunRequest request;
    request.fetches = &fetches;
    request.full_team = true;
    for (int step = 0; step < 400; ++step) {
      const Run result = session.raw_session()->run(request);
      if (step >= 350) sum += *static_cast<const float*>(result.result(fetches, 1).data) / 50;
    }
  });
  return sum;
}

// The bound of docs/reference/manifest.md.
TEST(Precision, TheDigitsEndWithinTheBoundOfFloat32) {
  SKIP_WITHOUT_BF16();
  const double exact = final_loss("float32"), rounded = final_loss("bf16");
  EXPECT_LT(exact, 0.5);  // it has learned something
  EXPECT_NE(rounded, exact);
  EXPECT_NEAR(rounded, exact, 0.01 + 0.05 * exact);
}

TEST(Precision, Bf16EndsWithTheSameBitsEachTime) {
  SKIP_WITHOUT_BF16();
  EXPECT_EQ(final_loss("bf16"), final_loss("bf16"));
}

}  // namespace
}  // namespace belay::runtime::testing
