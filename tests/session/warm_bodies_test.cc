// SPDX-License-Identifier: Apache-2.0
// A warm run of cond and while allocates nothing.
#include "belay/ops/control_flow.h"
#include "belay/ops/math.h"
#include "belay/testing/allocations.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime {
namespace {

class WarmBodies : public testing::SessionTest {};

TEST_F(WarmBodies, AllocateNothing) {
  const Output v = ops::variable(g, "v", Tensor({3}, {1.0f, 2.0f, 3.0f}));
  const std::vector<Output> loop = ops::while_loop(
      [&](const std::vector<Output>& x) { return ops::less(x[0], ops::constant(g, 20)); },
      [&](const std::vector<Output>& x) {
        const Output even = ops::equal(ops::floor_mod(x[0], ops::constant(g, 2)), ops::constant(g, 0));
        return std::vector<Output>{x[0] + 1.0, ops::cond(
                                                   even, [&] { return x[1] + v; }, [&] { return x[1] * 0.5; })};
      },
      {ops::constant(g, 0), v});
  open();
  initialize();
  FetchSet fetches(std::vector<FetchRef>{loop[1]});
  RunRequest request;
  request.fetches = &fetches;
  for (int i = 0; i < 3; ++i) session().run(request);
  const std::uint64_t before = belay::testing::allocations();
  for (int i = 0; i < 100; ++i) session().run(request);
  EXPECT_EQ(belay::testing::allocations() - before, 0u);
}

}  // namespace
}  // namespace belay::runtime
