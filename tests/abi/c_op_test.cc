// SPDX-License-Identifier: Apache-2.0
// An operation written in C with abi.h alone trains as one of the engine's own.
#include <gtest/gtest.h>

#include "belay/testing/node_driver.h"
#include "belay/testing/plugin_library.h"
#include "belay/testing/temporary_folder.h"
#include "tests/abi/compilers.h"

namespace belay::runtime {
namespace {

using belay::testing::NodeDriver;

class COpTest : public ::testing::TestWithParam<const char*> {};

TEST_P(COpTest, WrittenWithAbiHAloneComputesAndHasAGradient) {
  const std::string compiler = GetParam();
  if (!has_command(compiler.substr(0, compiler.find(' ')))) GTEST_SKIP() << compiler << " is not installed";
  const belay::testing::TemporaryFolder folder;
  const Output built =
      compile(compiler + " -Wall -Wextra -Wpedantic -Werror -shared -fPIC -O2", "c_op.c", folder.file("c_op.so"));
  ASSERT_EQ(built.status, 0) << built.text;
  const belay_module& module = belay::testing::open_module(folder.file("c_op.so"));
  NodeDriver node(module, "CClip", {{"high", 2.0}});
  node.input(DType::kFloat32, {-1});
  node.build(2);
  EXPECT_EQ(node.spec(), "float32 [?]");
  const std::vector<Tensor> x = {Tensor({4}, {-3.f, 0.5f, 1.5f, 7.f})};
  const Tensor y = node.run(x)[0];
  const float expected[] = {-1, 0.5f, 1.5f, 2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(TensorView(y).number(i), expected[i]);
  EXPECT_LT(node.worst_gradient_error(x), 1e-2);
  NodeDriver wrong(module, "CClip", {{"hihg", 2.0}});
  wrong.input(DType::kFloat32, {2});
  try {
    wrong.build();
    FAIL() << "an unknown attribute was taken";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "node 'node' (CClip): [B2030] \"hihg\" is not an attribute of op \"c_clip\"; did you mean \"high\"? "
                 "attributes: "
                 "low, high");
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, COpTest, ::testing::Values("gcc -std=c11", "clang -std=c11"));

}  // namespace
}  // namespace belay::runtime
