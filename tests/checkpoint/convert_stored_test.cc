// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/convert_stored.h"

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A saver of two files whose names begin alike: the forms in one, the elements in the other.
class TwoFiles {
 public:
  TwoFiles() {
    saver_.write = [](Directory& d, TensorSource& tensors) {
      std::string forms;
      File data = d.create("two.data-0");
      for (std::uint64_t i = 0; i < tensors.count(); ++i) {
        const auto [name, view] = tensors.get(i);
        forms += std::string(name) + " " + std::to_string(view.size()) + "\n";
        data.write(view.data(), view.bytes());
      }
      data.close();
      File index = d.create("two.index");
      index.write(forms.data(), forms.size());
      index.close();
    };
  }
  SaverUse use() { return saver_.use(); }

 private:
  ScriptedSaver saver_;
};

class ConvertTest : public RunDirectoryTest {
 protected:
  void SetUp() override { write_checkpoint(*run_, StepContent(7).content(), use_, log_); }
  StoredCopy copy(const std::function<bool(const std::string&)>& wanted = [](const std::string&) { return true; }) {
    const auto reader = CheckpointReader::open(run_->open_directory("model.ckpt-7"));
    return read_copy(*reader, use_, reader.get(), wanted);
  }
  void write(const StoredCopy& c, const std::string& target, const SaverUse& saver) {
    write_copy(files_, c, dir_ / target, saver, clock_, log_);
  }
  SaverUse use_ = saver_.use();
  TwoFiles two_;
};

TEST_F(ConvertTest, ACheckpointIsCopiedWithItsState) {
  write(copy(), "copy", use_);
  const auto reader = CheckpointReader::open(run_->open_directory("copy"));
  EXPECT_EQ(StepContent(7).difference(*reader, use_), "");
  EXPECT_EQ(reader->index().graph_hash, "5c0e");
  EXPECT_THAT(run_->entries(), ElementsAre("copy", "model.ckpt-7"));
}

TEST_F(ConvertTest, TwiceTheSameIsTheSameBytes) {
  write(copy(), "a", use_), write(copy(), "b", use_);
  for (const char* file : {"index", "state", "state.data", "model.safetensors"})
    EXPECT_EQ(read_file(dir_ / (std::string("a/") + file)), read_file(dir_ / (std::string("b/") + file))) << file;
}

TEST_F(ConvertTest, OnlyWhatIsWantedIsCopied) {
  write(copy([](const std::string& name) { return name == "dense/bias"; }), "bias", use_);
  const auto reader = CheckpointReader::open(run_->open_directory("bias"));
  ASSERT_EQ(reader->tensors().size(), 1u);
  EXPECT_EQ(reader->index().global_step, 7);
  EXPECT_THAT(error_of([&] { copy([](const std::string&) { return false; }); }),
              HasSubstr("has no tensor that is wanted and can be read"));
}

TEST_F(ConvertTest, AFileIsWrittenUnderItsOwnName) {
  write(copy(), "weights.safetensors", use_);
  EXPECT_EQ(read_file(dir_ / "weights.safetensors"), read_file(dir_ / "model.ckpt-7/model.safetensors"));
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-7", "weights.safetensors"));
}

TEST_F(ConvertTest, FilesWithACommonBeginAreRenamedTogether) {
  write(copy(), "tf-7.index", two_.use());
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-7", "tf-7.data-0", "tf-7.index"));
  EXPECT_EQ(read_file(dir_ / "tf-7.data-0").size(), 92u);
  EXPECT_EQ(error_of([&] { write(copy(), "x.npz", two_.use()); }),
            "INVALID_ARGUMENT: [B4027] the saver wrote 2 files, which keep their names: give a directory in place of "
            "'x.npz'");
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-7", "tf-7.data-0", "tf-7.index"));
}

TEST_F(ConvertTest, AFileOfOthersHasTheStepOfItsGlobalStep) {
  write(copy(), "weights-3.safetensors", use_);
  const auto stored = open_stored_tensors(files_, dir_ / "weights-3.safetensors", use_, log_);
  const auto all = [](const std::string&) { return true; };
  EXPECT_EQ(read_copy(*stored, use_, nullptr, all).state.global_step, 7);
  const StoredCopy bias = read_copy(*stored, use_, nullptr, [](const std::string& n) { return n == "dense/bias"; });
  EXPECT_EQ(bias.state.global_step, 3);
  write(bias, "from_file", use_);
  const auto reader = CheckpointReader::open(run_->open_directory("from_file"));
  EXPECT_EQ(reader->index().global_step, 3);
}

TEST_F(ConvertTest, NothingIsReplaced) {
  write_file(dir_ / "there", "mine");
  write_file(dir_ / "tf.data-0", "mine");
  EXPECT_EQ(
      error_of([&] { write(copy(), "there", use_); }),
      "ALREADY_EXISTS: [B4028] '" + (dir_ / "there") + "' exists, and nothing is replaced: remove it or name another");
  EXPECT_THAT(error_of([&] { write(copy(), "tf.index", two_.use()); }), HasSubstr("tf.data-0' exists"));
  EXPECT_EQ(read_file(dir_ / "tf.data-0"), "mine");
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-7", "tf.data-0", "there"));
}

TEST_F(ConvertTest, ARunThatGoesOnGetsNoCheckpointFromElsewhere) {
  const RunLock lock = RunLock::take(*run_, clock_);
  EXPECT_THAT(error_of([&] { write(copy(), "model.ckpt-8", use_); }),
              HasSubstr("is in use by another session of this process"));
  write(copy(), "backup", use_);
  EXPECT_THAT(run_->entries(), ElementsAre("backup", "lock", "model.ckpt-7"));
}

TEST_F(ConvertTest, AFailureAtAnyCallLeavesNothing) {
  const StoredCopy whole = copy();
  const Error full(Code::kResourceExhausted, "No space left on device");
  for (const FileCall call : {FileCall::kCreate, FileCall::kWrite, FileCall::kSync, FileCall::kMakeDirectory})
    for (int nth = 1; nth <= 3; ++nth) {
      files_.fail(call, nth, full);
      const std::string error = error_of([&] { write(whole, "copy", use_); });
      const bool there = run_->exists("copy");
      // The last sync comes after the rename.
      if (there) std::filesystem::remove_all(dir_ / "copy");
      EXPECT_TRUE(!error.empty() || there) << static_cast<int>(call) << " " << nth;
      EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-7")) << static_cast<int>(call) << " " << nth;
    }
}

}  // namespace
}  // namespace belay::runtime
