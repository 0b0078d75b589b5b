// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/write/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "belay/state_digest.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/run_state.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CheckpointWriter : public RunDirectoryTest {
 protected:
  std::string write(const StepContent& content) {
    return write_checkpoint(*run_, content.content(), saver_.use(), log_);
  }
  std::string failure(const CheckpointContent& content, const SaverUse& saver) {
    return error_of([&] { write_checkpoint(*run_, content, saver, log_); });
  }
  std::string in_dir(const std::string& name) const { return dir_ / name; }
  std::vector<std::string> entries() const { return run_->entries(); }
  void expect_whole(const std::string& name, const StepContent& content) {
    const auto reader = CheckpointReader::open(run_->open_directory(name));
    EXPECT_EQ(content.difference(*reader, saver_.use()), "");
  }
};

TEST_F(CheckpointWriter, WhatIsWrittenIsReadBackToTheBit) {
  const StepContent content(2000);
  EXPECT_EQ(write(content), "model.ckpt-2000");
  EXPECT_THAT(entries(), ElementsAre("model.ckpt-2000"));
  EXPECT_THAT(run_->open_directory("model.ckpt-2000")->entries(),
              ElementsAre("index", "model.safetensors", "state", "state.data"));
  expect_whole("model.ckpt-2000", content);
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(CheckpointWriter, B_08h_TheDigestOfTheVariablesIsInTheState) {
  StepContent content(3);
  write(content);
  const auto digest = [&] { return digest_in_run_state(read_file(in_dir("model.ckpt-3/state"))); };
  const std::string before = digest();
  StateDigest expected;
  for (const NamedTensor& v : content.content().variables) expected.add(v.name, TensorView(v.tensor));
  EXPECT_EQ(before, expected.text());
  // One bit of each of them.
  for (const NamedTensor& v : content.content().variables) {
    auto* byte = static_cast<unsigned char*>(TensorView(v.tensor).mutable_data());
    *byte ^= 1;
    write(content);
    EXPECT_NE(digest(), before) << v.name;
    *byte ^= 1;
  }
  std::swap(content.content().variables.front(), content.content().variables.back());
  write(content);
  EXPECT_EQ(digest(), before);
}

// Issue 33, point 6: three tensors for each variable that adam trains.
TEST_F(CheckpointWriter, AHundredThousandVariablesOfAdamAreSavedAndRestored) {
  std::vector<float> values(300'000);
  std::iota(values.begin(), values.end(), 0.0f);
  const auto named = [](std::vector<float>& memory) {
    std::vector<NamedTensor> tensors;
    for (std::size_t i = 0; i < memory.size(); ++i)
      tensors.push_back({"layers/" + std::to_string(i / 3) + "/kernel/" + std::to_string(i % 3),
                         belay::detail::raw_tensor(DType::kFloat32, 0, nullptr, &memory[i], sizeof(float))});
    return tensors;
  };
  CheckpointContent content;
  content.global_step = 1;
  content.variables = named(values);
  write_checkpoint(*run_, content, saver_.use(), log_, {}, {.read_back = true});
  std::vector<float> restored(values.size(), -1.0f);
  CheckpointReader::open(run_->open_directory("model.ckpt-1"), CheckFiles::kWhenRead)
      ->read(saver_.use(), named(restored));
  EXPECT_TRUE(restored == values);
}

TEST_F(CheckpointWriter, TheSameContentGivesTheSameBytes) {
  write(StepContent(7));
  const std::string index = read_file(in_dir("model.ckpt-7/index"));
  write(StepContent(7));
  EXPECT_EQ(read_file(in_dir("model.ckpt-7/index")), index);
}

// The protocol: every file is synced before it closes, the directory after its files, and only then renamed.
TEST_F(CheckpointWriter, TakesTheStepsOfTheProtocolInOrder) {
  files_.forget_calls();
  write(StepContent(5));
  const std::vector<std::string> calls = without_random_digits(files_.calls());
  EXPECT_THAT(calls, ElementsAre("make_directory model.ckpt-5.tmp",            //
                                 "create model.ckpt-5.tmp/model.safetensors",  //
                                 "write model.ckpt-5.tmp/model.safetensors",   //
                                 "sync model.ckpt-5.tmp/model.safetensors",    //
                                 "close model.ckpt-5.tmp/model.safetensors",   //
                                 "list model.ckpt-5.tmp",                      //
                                 "create model.ckpt-5.tmp/state.data",         //
                                 "write model.ckpt-5.tmp/state.data",          //
                                 "sync model.ckpt-5.tmp/state.data",           //
                                 "close model.ckpt-5.tmp/state.data",          //
                                 "create model.ckpt-5.tmp/state",              //
                                 "write model.ckpt-5.tmp/state",               //
                                 "sync model.ckpt-5.tmp/state",                //
                                 "close model.ckpt-5.tmp/state",               //
                                 "create model.ckpt-5.tmp/index",              //
                                 "write model.ckpt-5.tmp/index",               //
                                 "sync model.ckpt-5.tmp/index",                //
                                 "close model.ckpt-5.tmp/index",               //
                                 "sync model.ckpt-5.tmp",                      //
                                 "rename model.ckpt-5.tmp -> model.ckpt-5",    //
                                 "sync ."));
}

TEST_F(CheckpointWriter, AStepThatExistsIsPutAsideUntilTheNewOneIsInItsPlace) {
  write(StepContent(5));
  files_.forget_calls();
  StepContent again(5);
  again.content().hook_states["timer"].entries["best"] = 77.0;
  write(again);
  const std::vector<std::string> calls = without_random_digits(files_.calls());
  ASSERT_GE(calls.size(), 5u);
  EXPECT_THAT(std::vector<std::string>(calls.end() - 5, calls.end()),
              ElementsAre("sync model.ckpt-5.tmp", "rename model.ckpt-5 -> model.ckpt-5.old",
                          "rename model.ckpt-5.tmp -> model.ckpt-5", "sync .", "remove_tree model.ckpt-5.old"));
  EXPECT_THAT(entries(), ElementsAre("model.ckpt-5"));
  expect_whole("model.ckpt-5", again);
}

TEST_F(CheckpointWriter, ADamagedCheckpointOfTheSameStepIsReplaced) {
  write(StepContent(5));
  write_file(in_dir("model.ckpt-5/index"), "garbage");
  write(StepContent(5));
  expect_whole("model.ckpt-5", StepContent(5));
}

TEST_F(CheckpointWriter, NothingThatIsNoCheckpointIsReplaced) {
  std::filesystem::create_directory(in_dir("model.ckpt-5"));
  write_file(in_dir("model.ckpt-5/mine.txt"), "mine");
  const StepContent content(5);
  EXPECT_EQ(failure(content.content(), saver_.use()),
            "ALREADY_EXISTS: [B4002] cannot save '" + in_dir("model.ckpt-5") + "': [B4028] '" + in_dir("model.ckpt-5") +
                "' exists and is no checkpoint (it has no index); move it away");
  EXPECT_THAT(entries(), ElementsAre("model.ckpt-5"));
  EXPECT_EQ(read_file(in_dir("model.ckpt-5/mine.txt")), "mine");
}

TEST_F(CheckpointWriter, NeitherIsALinkToOne) {
  write(StepContent(4));
  std::filesystem::create_directory_symlink("model.ckpt-4", in_dir("model.ckpt-5"));
  const StepContent content(5);
  EXPECT_EQ(failure(content.content(), saver_.use()).substr(0, 15), "ALREADY_EXISTS:");
  EXPECT_TRUE(std::filesystem::is_symlink(in_dir("model.ckpt-5")));
}

// F18
TEST_F(CheckpointWriter, ANonFiniteVariableIsNamedAndNothingIsTouched) {
  const struct {
    float value;
    const char* shown;
  } cases[] = {{std::numeric_limits<float>::quiet_NaN(), "nan"}, {-std::numeric_limits<float>::infinity(), "-inf"}};
  for (const auto& c : cases) {
    StepContent content(5);
    static_cast<float*>(content.content().variables[0].tensor.data)[11] = c.value;
    files_.forget_calls();
    EXPECT_EQ(failure(content.content(), saver_.use()),
              "DIVERGED: [B4002] cannot save '" + in_dir("model.ckpt-5") +
                  "': [B4021] variable 'dense/kernel' is not finite: element 11 of [15] is " + c.shown);
    EXPECT_THAT(files_.calls(), IsEmpty());
    EXPECT_EQ(write_checkpoint(*run_, content.content(), saver_.use(), log_, {.refuse_non_finite = false}),
              "model.ckpt-5");
  }
}

TEST_F(CheckpointWriter, SAVER_04_ContentThatACheckpointCannotHoldIsNamed) {
  const Tensor text(DType::kString, {2}), number(1.f);
  const std::int64_t negative[] = {-2};
  const struct {
    std::vector<NamedTensor> variables;
    std::int64_t step;
    std::string expected;
  } cases[] = {
      {{{"words", text.view()}},
       1,
       "UNIMPLEMENTED: [B4002] cannot save '*1': [B4008] variable 'words' is of type string; a checkpoint holds "
       "numbers"},
      {{{"a", number.view()}, {"a", number.view()}},
       1,
       "INVALID_ARGUMENT: [B4002] cannot save '*1': [B4030] two variables have the same name: 'a'"},
      {{{"", number.view()}}, 1, "INVALID_ARGUMENT: [B4002] cannot save '*1': [B4030] a variable has no name"},
      {{{"a", belay::detail::described(DType::kFloat32, 1, negative)}},
       1,
       "INVALID_ARGUMENT: [B4002] cannot save '*1': [B4030] variable 'a' has no size: float32 [?]"},
      {{}, -1, "INVALID_ARGUMENT: [B4002] cannot save '*-1': [B4030] the global step is -1; it must not be negative"},
  };
  for (const auto& c : cases) {
    CheckpointContent content;
    content.variables = c.variables;
    content.global_step = c.step;
    std::string expected = c.expected;
    expected.replace(expected.find('*'), 1, in_dir("model.ckpt-"));
    EXPECT_EQ(failure(content, saver_.use()), expected);
    EXPECT_THAT(entries(), IsEmpty());
  }
}

TEST_F(CheckpointWriter, WhatTheSaverThrowsComesOutWithItsName) {
  ScriptedSaver saver;
  saver.write = [](Directory&, TensorSource&) { fail(Code::kUnimplemented, "no such type"); };
  const StepContent content(5);
  EXPECT_EQ(failure(content.content(), saver.use()),
            "UNIMPLEMENTED: [B4002] cannot save '" + in_dir("model.ckpt-5") + "': saver 'scripted': no such type");
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(CheckpointWriter, ASaverThatBreaksItsContractIsRefused) {
  const auto stray = [&] {
    for (const std::string& name : entries())
      if (checkpoint_of_temporary(name)) return in_dir(name) + "/stray";
    return std::string();
  };
  const auto write_one = [](Directory& directory) {
    File file = directory.create("data");
    file.write("x", 1);
    file.close();
  };
  File* leaked = nullptr;
  const struct {
    std::function<void(Directory&, TensorSource&)> write;
    std::string expected;
  } cases[] = {
      {[](Directory&, TensorSource&) {}, "INTERNAL: [B4026] it left no file"},
      {[&](Directory& d, TensorSource&) { leaked = new File(d.create("data")); },
       "INTERNAL: [B4026] it left the file 'data' open"},
      {[&](Directory& d, TensorSource&) {
         write_one(d);
         std::filesystem::create_directory(stray());
       },
       "INTERNAL: [B4026] it left 'stray', which is a directory"},
      {[&](Directory& d, TensorSource&) {
         write_one(d);
         std::filesystem::create_symlink("/etc/passwd", stray());
       },
       "INTERNAL: [B4026] it left 'stray', which is a symbolic link"},
      {[&](Directory& d, TensorSource&) {
         write_one(d);
         write_file(stray(), "past the host");
       },
       "INTERNAL: [B4026] it left 'stray', which it did not write through the host"},
      {[](Directory& d, TensorSource&) { d.create("index"); },
       "INVALID_ARGUMENT: [B4006] a saver cannot name a file \"index\""},
      {[](Directory& d, TensorSource&) { d.create("state.data"); },
       "INVALID_ARGUMENT: [B4006] a saver cannot name a file \"state.data\""},
      {[](Directory& d, TensorSource&) { d.create("../x"); },
       "INVALID_ARGUMENT: [B4006] a saver cannot name a file \"../x\""},
      {[](Directory& d, TensorSource&) { d.open("data"); },
       "FAILED_PRECONDITION: [B4006] a saver that writes cannot read"},
      {[](Directory&, TensorSource& t) { t.get(3); }, "INVALID_ARGUMENT: [B4006] there is no tensor 3; there are 3"},
  };
  for (const auto& c : cases) {
    ScriptedSaver saver;
    saver.write = c.write;
    const StepContent content(5);
    const std::string code = c.expected.substr(0, c.expected.find(':'));
    EXPECT_EQ(failure(content.content(), saver.use()), code + ": [B4002] cannot save '" + in_dir("model.ckpt-5") +
                                                           "': saver 'scripted'" + c.expected.substr(code.size()));
    EXPECT_THAT(entries(), IsEmpty());
  }
  ::operator delete(leaked);  // its file went with the host's directory
}

TEST_F(CheckpointWriter, AnErrorThatTheSaverSwallowedFailsTheSave) {
  ScriptedSaver saver;
  saver.write = [](Directory& directory, TensorSource&) {
    try {
      File file = directory.create("data");
      file.write("x", 1);
      file.close();
    } catch (const Error&) {
    }
    File other = directory.create("other");
    other.close();
  };
  files_.fail(FileCall::kSync, 1, Error(Code::kDataLoss, "cannot sync 'data': Input/output error"));
  const StepContent content(5);
  EXPECT_EQ(failure(content.content(), saver.use()), "DATA_LOSS: [B4002] cannot save '" + in_dir("model.ckpt-5") +
                                                         "': saver 'scripted': cannot sync 'data': Input/output error");
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(CheckpointWriter, ASaverMayWriteInSmallPiecesAndSeveralFiles) {
  std::string large(3 << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31);
  ScriptedSaver saver;
  saver.write = [&](Directory& directory, TensorSource&) {
    File a = directory.create("a"), b = directory.create("b");
    for (std::size_t at = 0, n = 1; at < large.size(); at += n, n = n * 3 % 500'009) {
      n = std::min(n, large.size() - at);
      a.write(large.data() + at, n);
      b.write(large.data() + at, n / 2);
    }
    EXPECT_EQ(a.size(), large.size());
    a.close();
    b.close();
  };
  const StepContent content(5);
  write_checkpoint(*run_, content.content(), saver.use(), log_);
  EXPECT_EQ(read_file(in_dir("model.ckpt-5/a")), large);
  CheckpointReader::open(run_->open_directory("model.ckpt-5"));  // the checksums are those of what passed
}

}  // namespace
}  // namespace belay::runtime
