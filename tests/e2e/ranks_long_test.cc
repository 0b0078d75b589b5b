// SPDX-License-Identifier: Apache-2.0
// Four processes of one thread reach the accuracy of one process, with the same rows in a step.
#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/accuracy_fixture.h"

namespace belay::runtime::testing {
namespace {

class FourRanks : public Accuracy {
 protected:
  static constexpr const char* kExample = BELAY_SOURCE_DIR "/examples/mnist_cnn.toml";

  std::vector<std::string> arguments(const std::string& plugin) const {
    return {"run",   kExample,
            "--set", "run.dir=\"" + (temp / "run") + "\"",
            "--set", "run.threads=1",
            "--set", "input.train.batch_size=16",
            "--set", "cluster.plugin=\"" + plugin + "\""};
  }
  static void expect_accuracy(const std::string& out) { EXPECT_GE(metric(out, "accuracy"), 0.99) << out; }
};

TEST_F(FourRanks, ByGloo) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  std::vector<std::unique_ptr<BelayProcess>> all;
  for (int r = 0; r < 4; ++r) {
    std::vector<std::string> variables = data_variables();
    variables.insert(variables.end(), {"RANK=" + std::to_string(r), "WORLD_SIZE=4"});
    all.push_back(std::make_unique<BelayProcess>(arguments("gloo"), variables));
  }
  std::string out;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const ProcessResult result = all[r]->wait();
    EXPECT_EQ(result.status, 0) << "rank " << r << result.err;
    if (r == 0) out = result.out;
  }
  expect_accuracy(out);
}

TEST_F(FourRanks, ByOpenMpi) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
#endif
  std::string command =
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
      "ASAN_OPTIONS=detect_leaks=0 BELAY_PLUGIN_PATH=" BELAY_BINARY_DIR "/plugins ";
  for (const std::string& variable : data_variables()) command += "'" + variable + "' ";
  command += "mpirun.openmpi -np 4 " BELAY_BINARY_DIR "/bin/belay";
  for (const std::string& argument : arguments("mpi_openmpi")) command += " '" + argument + "'";
  std::FILE* said = ::popen((command + " < /dev/null").c_str(), "r");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), said)) > 0;) out.append(buffer, n);
  EXPECT_EQ(::pclose(said), 0);
  expect_accuracy(out);
}

}  // namespace
}  // namespace belay::runtime::testing
