// Drives the cluster. It runs twice: with the cluster linked in, and with the .so.
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" const belay_module belay_module_my_cluster;

namespace {

using namespace belay::testing;

TEST(MyCluster, IsAGroupOfOne) {
  ClusterDriver cluster(module_under_test(belay_module_my_cluster), 1);
  const std::vector<std::string> errors = cluster.run([](ClusterRank& rank) {
    const belay::ClusterPlace place = rank.open();
    EXPECT_EQ(place.rank, 0);
    EXPECT_EQ(place.size, 1);
    belay::Tensor sum(belay::Dims{2}, {1.F, 2.F});
    rank.all_reduce(sum);
    EXPECT_EQ(sum.data<float>()[1], 2.F);
    rank.barrier();
    rank.close();
  });
  EXPECT_EQ(errors[0], "");
}

TEST(MyCluster, SaysThatItJoinsNoProcesses) {
  ClusterDriver cluster(module_under_test(belay_module_my_cluster), 2);
  for (const std::string& error : cluster.run([](ClusterRank& rank) { rank.open(); }))
    EXPECT_EQ(error, "UNAVAILABLE: my_cluster joins no processes, and the launcher has set 2 of them");
}

}  // namespace
