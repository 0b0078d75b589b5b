// session.precision = "bf16": what changes, by how much at the most, and what does not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/matmul.h"
#include "plugins/default_plugins.h"
#include "runtime/loader/cpu_features.h"
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
  // a [32, 32] times itself; all elements of a are the same.
  float product_of(float element, Precision precision) {
    const Output a = ops::placeholder(g, DType::kFloat32, {32, 32}, "a");
    const Output c = ops::matmul(a, a);
    SessionOptions options;
    options.precision = precision;
    open(std::move(options));
    return values<float>(c, {{a, Tensor({32, 32}, std::vector<float>(32 * 32, element))}}).front();
  }
};

constexpr float kBetweenTwoOfBf16 = 1.0f + 1.0f / 512;  // bfloat16 has 8 bits: the next after 1 is 1 + 1/128

TEST_F(PrecisionTest, Float32KeepsAllBits) {
  EXPECT_EQ(product_of(kBetweenTwoOfBf16, Precision::kFloat32), 32 * kBetweenTwoOfBf16 * kBetweenTwoOfBf16);
}

TEST_F(PrecisionTest, Bf16RoundsWhatIsMultiplied) {
  SKIP_WITHOUT_BF16();
  EXPECT_EQ(product_of(kBetweenTwoOfBf16, Precision::kBfloat16), 32);
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

// The bound of docs/manifest.md.
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
