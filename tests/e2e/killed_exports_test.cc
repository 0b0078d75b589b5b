// SPDX-License-Identifier: Apache-2.0
// A training that exports after each evaluation, killed at random: a version is whole or does not exist.
// BELAY_SIGNAL_SEED makes other moments.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "runtime/estimator/resume/export_folder.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

class KilledExports : public RunTest {
 protected:
  static constexpr const char* kExporters[] = {"belay", "onnx", "safetensors"};
  static constexpr std::size_t kKeep = 2;

  // An evaluation and three exports every other step, without an end.
  std::string manifest() {
    std::string more = "[input.eval]\nplugin = \"numbers\"\nexamples = 32\nepochs = 1\n[eval]\nevery_steps = 2\n";
    for (const char* exporter : kExporters)
      more += "[[exporters]]\nplugin = \"" + std::string(exporter) +
              "\"\nwhen = \"latest\"\nkeep = " + std::to_string(kKeep) + "\n";
    return regression("delay_secs = 0.002", more, 1'000'000);
  }
  std::string folder(const std::string& exporter) const { return run_dir() + "/export/" + exporter; }

  // How many versions there are; each has all of its files, with the bytes that export.json lists.
  std::size_t whole_versions() const {
    std::size_t versions = 0;
    for (const char* exporter : kExporters)
      for (const std::string& name : listing(folder(exporter))) {
        if (!is_export_version(name)) continue;
        const std::string version = folder(exporter) + "/" + name;
        const ExportRecord record = parse_export_record(contents(version + "/export.json"));
        EXPECT_EQ(record.exporter, exporter);
        EXPECT_EQ(record.files.size() + 1, listing(version).size()) << version;
        for (const FileEntry& file : record.files) {
          const std::string bytes = contents(version + "/" + file.name);
          EXPECT_EQ(bytes.size(), file.length) << version << " " << file.name;
          EXPECT_EQ(crc32c(bytes.data(), bytes.size()), file.crc32c) << version << " " << file.name;
        }
        ++versions;
      }
    return versions;
  }
};

TEST_F(KilledExports, AVersionIsWholeOrAbsentWhereverTheRunIsKilled) {
  const char* seed = std::getenv("BELAY_SIGNAL_SEED");
  std::mt19937 random(seed == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(seed)));
  const std::string path = manifest();
  std::size_t versions = 0;
  for (int kill = 0; kill < 8; ++kill) {
    BelayProcess run({"run", path});
    ASSERT_TRUE(run.wait_for("exported step ")) << run.wait().err;
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 100'000)(random)));
    run.kill(SIGKILL);
    ASSERT_EQ(run.wait().signal, SIGKILL);
    versions += whole_versions();
  }
  EXPECT_GE(versions, 8u);  // at least one after each kill

  // The next run takes away what they left.
  BelayProcess run({"run", path});
  ASSERT_TRUE(run.wait_for(" to " + folder("safetensors"))) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  ASSERT_EQ(r.signal, SIGTERM) << r.err;
  whole_versions();
  for (const char* exporter : kExporters) {
    EXPECT_THAT(listing(folder(exporter)), Not(Contains(StartsWith(".")))) << exporter;
    EXPECT_LE(listing(folder(exporter)).size(), kKeep + 1) << exporter;  // and the lock
  }
}

}  // namespace
}  // namespace belay::runtime::testing
