// SPDX-License-Identifier: Apache-2.0
// A plugin compiled for a newer processor than the host, with Eigen inside: its packets and its own memory are aligned
// otherwise than the host's. Nothing of Eigen crosses the boundary, so both compute the same.
#include <cstdio>

#include "runtime/loader/file/cpu_features.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

struct Norms {
  float all = 0, unaligned = 0, product = 0;
};

// From the line of one hook; zeros where there is not one.
Norms norms_of(const ProcessResult& r, const std::string& hook) {
  const std::string before = "info " + hook + ": norms ";
  const std::vector<std::string> lines = lines_with(r.err, before);
  Norms n;
  if (lines.size() == 1)
    std::sscanf(lines[0].c_str() + lines[0].find(before) + before.size(), "%f %f %f", &n.all, &n.unaligned, &n.product);
  return n;
}

class EigenPlugin : public RunTest {};

TEST_F(EigenPlugin, ForWiderRegistersThanTheHostsComputesTheSameBesideOneForTheHosts) {
  // These are the features that x86-64-v3 adds; a virtual machine may hide one of them.
  const std::vector<std::string> missing =
      CpuFeatures().missing({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"});
  if (!missing.empty()) GTEST_SKIP() << "this processor lacks " << missing[0];
  const ProcessResult r =
      belay({"run", regression("", "[[hooks]]\nplugin = \"eigen_x86_64_v3\"\n[[hooks]]\nplugin = \"eigen_baseline\"\n"),
             "--set", "model={plugin=\"mlp\", hidden=[37]}"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Norms wide = norms_of(r, "eigen_x86_64_v3"), narrow = norms_of(r, "eigen_baseline");
  EXPECT_GT(narrow.all, 0) << r.err;
  EXPECT_GT(narrow.unaligned, 0);
  EXPECT_GT(narrow.product, 0);
  EXPECT_NEAR(wide.all, narrow.all, 1e-4 * narrow.all);
  EXPECT_NEAR(wide.unaligned, narrow.unaligned, 1e-4 * narrow.unaligned);
  EXPECT_NEAR(wide.product, narrow.product, 1e-4 * narrow.product);
}

}  // namespace
}  // namespace belay::runtime::testing
