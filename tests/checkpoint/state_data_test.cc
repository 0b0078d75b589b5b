// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/state_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StateData : public RunDirectoryTest {
 protected:
  static StateTensor numbers(const Dims& dims, float first) {
    StateTensor t = allocated(DType::kFloat32, dims);
    auto* at = static_cast<float*>(t.memory.get());
    for (std::uint64_t i = 0; i < byte_size(t) / sizeof(float); ++i) at[i] = first + static_cast<float>(i);
    return t;
  }
  // A checkpoint of step 30. Its hook "timer" has a tensor; "a" has an empty one and one of several pieces.
  StateData() {
    content_.content().hook_states["a"].entries = {{"large", numbers({300, 1000}, 1)}, {"none", numbers({0, 3}, 0)}};
  }
  void write() { write_checkpoint(*run_, content_.content(), saver_.use(), log_); }
  std::unique_ptr<CheckpointReader> open() { return CheckpointReader::open(run_->open_directory("model.ckpt-30")); }
  const StateTensor& tensor(const CheckpointReader& reader, const char* hook, const char* key) {
    return std::get<StateTensor>(reader.state().hook_states.at(hook).entries.at(key));
  }
  std::string file(const char* name = "state.data") const { return dir_ / "model.ckpt-30/" + name; }

  StepContent content_{30};
};

TEST_F(StateData, B_08a_TensorsLieOneAfterAnotherAndAreReadWhenTheyAreAskedFor) {
  write();
  EXPECT_EQ(std::filesystem::file_size(file()), 4u * 300 * 1000 + 6 * 4);
  EXPECT_EQ(tensor_bytes(content_.content()), 4u * 300 * 1000 + 6 * 4);
  files_.forget_calls();
  const auto reader = open();
  EXPECT_EQ(content_.difference(*reader, saver_.use()), "");
  const StateTensor& large = tensor(*reader, "a", "large");
  EXPECT_EQ(large.memory, nullptr);
  EXPECT_EQ(large.offset, 0u);
  const auto elements = elements_of(large);
  const auto* at = static_cast<const float*>(elements.get());
  EXPECT_EQ(at[0], 1.0f);
  EXPECT_EQ(at[299'999], 300'000.0f);
  EXPECT_EQ(elements_of(tensor(*reader, "a", "none")), nullptr);
  EXPECT_EQ(tensor(*reader, "timer", "window").offset, 4u * 300 * 1000);
}

TEST_F(StateData, B_08a_WithoutTensorsThereIsNoFile) {
  content_.content().hook_states.erase("a");
  content_.content().hook_states["timer"].entries.erase("window");
  write();
  EXPECT_THAT(run_->open_directory("model.ckpt-30")->entries(), ElementsAre("index", "model.safetensors", "state"));
  EXPECT_EQ(open()->state().hook_states, content_.content().hook_states);
}

// The same if it is damaged while the checkpoint is open.
TEST_F(StateData, B_08e_DamageIsNamedWithFileAndPlace) {
  write();
  const auto reader = open();
  std::string bytes = read_file(file());
  const std::string crc = crc_text(crc32c(std::string_view(bytes).substr(1'200'000)));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(file(), bytes);
  EXPECT_EQ(error_of([&] { elements_of(tensor(*reader, "timer", "window")); }),
            "DATA_LOSS: [B4010] '" + file() + "' has the CRC32C " +
                crc_text(crc32c(std::string_view(bytes).substr(1'200'000))) +
                " (bytes 1200000 to 1200024), but `state` records " + crc);
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("state.data has the CRC32C "));
  std::filesystem::remove(file());
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("state.data is missing"));
}

// An index and a state that vouch for themselves, but not for each other.
TEST_F(StateData, B_08e_AFileThatIsNotMadeUpOfTheStatesTensorsIsDamage) {
  write();
  const CheckpointIndex whole = parse_index(read_file(file("index")));
  CheckpointIndex index = whole;
  std::erase_if(index.files, [](const FileEntry& f) { return f.name == "state.data"; });
  write_file(file("index"), format_index(index));
  EXPECT_THAT(error_of([&] { open(); }),
              HasSubstr("state: [B4009] the hooks' tensors have 1200024 bytes, there is no state.data"));
  index = whole;
  for (FileEntry& f : index.files)
    if (f.name == "state.data") f = {f.name, 4, crc32c("four")};
  write_file(file("index"), format_index(index));
  write_file(file(), "four");
  EXPECT_THAT(error_of([&] { open(); }),
              HasSubstr("state: [B4009] the hooks' tensors have 1200024 bytes, state.data has 4"));
}

}  // namespace
}  // namespace belay::runtime
