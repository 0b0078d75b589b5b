// SPDX-License-Identifier: Apache-2.0
// Every byte of every file of a checkpoint, by each saver, is altered, and each file is cut off at every length. That
// is found before any value is used, and the error names the file and the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/platform/memory_disk.h"

extern "C" const belay_module belay_module_npz;
extern "C" const belay_module belay_module_stdio_saver;
extern "C" const belay_module belay_module_tf_bundle;

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;

struct DamageCase {
  const belay_module* module;
  const char* name;
};

class DamagedCheckpoints : public ::testing::TestWithParam<DamageCase> {
 protected:
  DamagedCheckpoints() {
    StepContent content(20);
    content.content().manifest = "[run]\nmax_steps = 50\n";
    write_checkpoint(*run_, content.content(), saver_.use(), log_);
    for (const std::string& name : directory()->entries()) files_[name] = directory()->read(name, 1 << 20);
  }
  std::unique_ptr<OpenDirectory> directory() { return disk_.open_directory("/run/model.ckpt-20"); }
  void put(const std::string& name, const std::string& bytes) {
    directory()->remove(name);
    directory()->create(name)->write(bytes.data(), bytes.size());
    disk_.settle();
  }
  // Reads a checkpoint with this in place of a file.
  void expect_found(const std::string& name, const std::string& bytes, const std::string& what) {
    put(name, bytes);
    std::string errors[2];
    for (const CheckFiles check : {CheckFiles::kWhenOpened, CheckFiles::kWhenRead}) {
      const std::string error = errors[check == CheckFiles::kWhenRead] = error_of([&] {
        const auto reader = CheckpointReader::open(directory(), check);
        StepContent(20).difference(*reader, saver_.use());
      });
      ASSERT_THAT(error, HasSubstr("DATA_LOSS: ")) << name << " " << what;
      ASSERT_THAT(error, HasSubstr(": [B40")) << what;
      ASSERT_THAT(error, AnyOf(HasSubstr("] " + name), HasSubstr("'/run/model.ckpt-20': " + name))) << what;
    }
    ASSERT_EQ(errors[0], errors[1]) << what;
    ++found_;
  }

  MemoryDisk disk_;
  const std::unique_ptr<OpenDirectory> run_ = disk_.make_directories("/run");
  RecordingLogger log_;
  LinkedSaver saver_{*GetParam().module, GetParam().name};
  std::map<std::string, std::string> files_;
  int found_ = 0;
};

// One bit of each byte.
TEST_P(DamagedCheckpoints, AFlippedBitOfAnyByteIsFoundWithItsFile) {
  for (const auto& [name, whole] : files_) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      ASSERT_NO_FATAL_FAILURE(expect_found(name, damaged, "byte " + std::to_string(i)));
    }
    put(name, whole);
  }
  std::printf("%d flipped bits in %zu files\n", found_, files_.size());
  EXPECT_EQ(error_of([&] { CheckpointReader::open(directory()); }), "");
}

TEST_P(DamagedCheckpoints, EveryTruncationIsFoundWithItsFile) {
  for (const auto& [name, whole] : files_) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      ASSERT_NO_FATAL_FAILURE(expect_found(name, whole.substr(0, size), std::to_string(size) + " bytes"));
    ASSERT_NO_FATAL_FAILURE(expect_found(name, whole + '\0', "a byte more"));
    put(name, whole);
  }
  EXPECT_EQ(error_of([&] { CheckpointReader::open(directory()); }), "");
}

INSTANTIATE_TEST_SUITE_P(Each, DamagedCheckpoints,
                         ::testing::Values(DamageCase{&belay_module_safetensors, "safetensors"},
                                           DamageCase{&belay_module_tf_bundle, "tf_bundle"},
                                           DamageCase{&belay_module_npz, "npz"},
                                           DamageCase{&belay_module_stdio_saver, "stdio_saver"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace belay::runtime
