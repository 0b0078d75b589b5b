// SPDX-License-Identifier: Apache-2.0
// The reports of a traced run about its nodes.
#include <gmock/gmock.h>

#include "belay/ops/math.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each look at it is a microsecond later.
class TickingClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_ns_ += 1000; }
  std::int64_t wall_ns() const override { return monotonic_ns(); }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t) override {}

 private:
  mutable std::int64_t now_ns_ = 0;
};

class TraceTest : public SessionTest {
 protected:
  void open_with_clock() {
    DirectSessionOptions options;
    options.clock = &clock;
    open(std::move(options));
  }
  RunMetadata traced(const std::vector<Output>& fetches, std::int32_t level = BELAY_TRACE_FULL) {
    FetchSet set(std::vector<FetchRef>(fetches.begin(), fetches.end()));
    RunMetadata metadata;
    RunRequest request;
    request.fetches = &set;
    request.trace_level = level;
    request.metadata = &metadata;
    session().run(request);
    return metadata;
  }
  TickingClock clock;
};

TEST_F(TraceTest, ANodeHasItsNameTimesBytesAndPlaceInTheGraph) {
  const Output v = ops::variable(g, "v", Tensor({3}, {1.0f, 2.0f, 3.0f}));
  const Output squared = ops::square(v, "squared");
  open_with_clock();
  initialize();
  const RunMetadata metadata = traced({squared});
  ASSERT_EQ(metadata.nodes.size(), 1u);
  const TracedNode& node = metadata.nodes[0];
  EXPECT_EQ(node.name, "squared");
  EXPECT_EQ(node.op, "Square");
  EXPECT_EQ(node.node, squared.raw().node);
  EXPECT_EQ(node.end_ns - node.start_ns, 1000);
}

TEST_F(TraceTest, NodesStandInTheOrderOfTheirStart) {
  const Output v = ops::variable(g, "v", Tensor({3}, {1.0f, 2.0f, 3.0f}));
  const Output written = ops::assign_add(v, ops::constant(g, Tensor({3}, {1.0f, 1.0f, 1.0f})), "write");
  const auto after = g.after({written});
  const Output read = ops::square(v, "read_back");
  open_with_clock();
  initialize();
  const RunMetadata metadata = traced({read, written.operation()});
  std::vector<std::string> names;
  for (const TracedNode& node : metadata.nodes) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("write", "read_back"));
  EXPECT_LE(metadata.nodes[0].end_ns, metadata.nodes[1].start_ns);
}

TEST_F(TraceTest, ARunThatIsNotTracedTellsNothing) {
  const Output y = ops::square(ops::variable(g, "v", Tensor(2.0f)), "y");
  open_with_clock();
  initialize();
  EXPECT_THAT(traced({y}, BELAY_TRACE_NONE).nodes, IsEmpty());
  EXPECT_EQ(value<float>(y), 4.0f);
}

}  // namespace
}  // namespace belay::runtime::testing
