// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;

class CheckpointReading : public ::testing::Test {
 protected:
  CheckpointReading() { write_checkpoint(*run_, content_.content(), saver_.use(), log_); }
  std::unique_ptr<CheckpointReader> open() { return CheckpointReader::open(run_->open_directory("model.ckpt-30")); }
  std::string file(const std::string& name) const { return path() + "/" + name; }
  std::string path() const { return dir_ / "model.ckpt-30"; }
  // Returns the error of opening, without the path.
  std::string damage() {
    std::string text = error_of([&] { open(); });
    const std::string prefix = "'" + path() + "': ";
    const std::size_t at = text.find(prefix);
    return at == text.npos ? text : text.erase(at, prefix.size());
  }

  TempDir dir_;
  std::unique_ptr<OpenDirectory> run_ = posix_file_system().open_directory(dir_.path());
  SafetensorsSaver saver_;
  RecordingLogger log_;
  StepContent content_{30};
};

TEST_F(CheckpointReading, SAVER_34_ListsTensorsByName) {
  const auto reader = open();
  EXPECT_EQ(reader->name(), "model.ckpt-30");
  EXPECT_EQ(reader->path(), path());
  const TensorInfo bias{"dense/bias", DType::kFloat64, {3}}, kernel{"dense/kernel", DType::kFloat32, {15}},
      step{"global_step", DType::kInt64, {}};
  EXPECT_EQ(reader->tensors(), (std::vector<TensorInfo>{bias, kernel, step}));
  EXPECT_EQ(reader->index().saver, "safetensors");
  EXPECT_EQ(reader->index().graph_hash, "5c0e");
}

TEST_F(CheckpointReading, ReadsOneTensorIntoTheCallersMemory) {
  Tensor step(std::int64_t{0});
  open()->read(saver_.use(), {{"global_step", step.view()}});
  EXPECT_EQ(TensorView(step.view()).scalar<std::int64_t>(), 30);
}

TEST_F(CheckpointReading, ATargetThatDoesNotFitIsNamedAndNothingIsFilled) {
  const auto reader = open();
  Tensor step(std::int64_t{-1}), small(DType::kFloat32, {3}), other(DType::kFloat64, {15});
  const struct {
    NamedTensor target;
    std::string expected;
  } cases[] = {
      {{"global_stop", step.view()},
       "NOT_FOUND: [B4022] '*' has no tensor 'global_stop' (did you mean \"global_step\"?)"},
      {{"dense/kernel", small.view()},
       "INVALID_ARGUMENT: [B4023] tensor 'dense/kernel' is float32 [15] in '*', the memory for it is float32 [3]"},
      {{"dense/kernel", other.view()},
       "INVALID_ARGUMENT: [B4023] tensor 'dense/kernel' is float32 [15] in '*', the memory for it is float64 [15]"},
      {{"global_step", step.view()}, "INVALID_ARGUMENT: [B4023] tensor 'global_step' is asked for twice"},
  };
  for (const auto& c : cases) {
    std::string expected = c.expected;
    if (expected.find('*') != expected.npos) expected.replace(expected.find('*'), 1, path());
    EXPECT_EQ(error_of([&] { reader->read(saver_.use(), {{"global_step", step.view()}, c.target}); }), expected);
    EXPECT_EQ(TensorView(step.view()).scalar<std::int64_t>(), -1);
  }
}

TEST_F(CheckpointReading, AnotherSaverIsNotTried) {
  ScriptedSaver other;
  EXPECT_EQ(error_of([&] { open()->read(other.use(), {}); }),
            "FAILED_PRECONDITION: [B4035] '" + path() +
                "' was written by the saver 'safetensors', this one is 'scripted': set [scaffold] saver = { plugin = "
                "\"safetensors\" }");
}

TEST_F(CheckpointReading, EachDamageNamesTheFileAndBothValues) {
  const std::string data = read_file(file("model.safetensors")), state = read_file(file("state"));
  std::string flipped = data;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  write_file(file("model.safetensors"), flipped);
  EXPECT_EQ(damage(), "DATA_LOSS: [B4010] model.safetensors has the CRC32C " + crc_text(crc32c(flipped)) +
                          " (bytes 0 to " + std::to_string(data.size()) + "), but the index records " +
                          crc_text(crc32c(data)));
  write_file(file("model.safetensors"), data + "x");
  EXPECT_EQ(damage(), "DATA_LOSS: [B4019] model.safetensors has " + std::to_string(data.size() + 1) +
                          " bytes, but the index records " + std::to_string(data.size()));
  std::filesystem::remove(file("model.safetensors"));
  EXPECT_EQ(damage(), "DATA_LOSS: [B4018] model.safetensors is missing");
  std::filesystem::create_symlink("/etc/passwd", file("model.safetensors"));
  EXPECT_EQ(damage(), "DATA_LOSS: [B4018] model.safetensors is no regular file");
  std::filesystem::remove(file("index"));
  EXPECT_EQ(damage(), "DATA_LOSS: [B4018] index is missing");
  std::filesystem::create_directory(file("index"));
  EXPECT_EQ(damage(), "DATA_LOSS: [B4018] index is no regular file");
}

TEST_F(CheckpointReading, AnIndexOverTheLimitIsNotRead) {
  std::filesystem::resize_file(file("index"), std::uint64_t{1} << 40);  // sparse
  EXPECT_EQ(damage(), "DATA_LOSS: [B4019] index: it has 1099511627776 bytes, at most 67108864 are read");
}

// F19
TEST_F(CheckpointReading, EveryTruncationOfEveryFileIsFound) {
  for (const char* name : {"index", "state", "state.data", "model.safetensors"}) {
    const std::string whole = read_file(file(name));
    for (std::size_t n = 0; n < whole.size(); ++n) {
      std::filesystem::resize_file(file(name), n);
      ASSERT_EQ(damage().substr(0, 10), "DATA_LOSS:") << name << " " << n;
      write_file(file(name), whole);
    }
  }
  EXPECT_EQ(damage(), "");
}

TEST_F(CheckpointReading, EveryFlippedByteOfIndexAndStateIsFound) {
  for (const char* name : {"index", "state", "state.data"}) {
    const std::string whole = read_file(file(name));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      write_file(file(name), damaged);
      ASSERT_EQ(damage().substr(0, 10), "DATA_LOSS:") << name << " " << i;
    }
    write_file(file(name), whole);
  }
}

TEST_F(CheckpointReading, TenThousandFlippedBitsOfDataAreFound) {
  const std::string whole = read_file(file("model.safetensors"));
  std::mt19937 random(7);
  for (int i = 0; i < 10'000; ++i) {
    std::string damaged = whole;
    const std::size_t bit = random() % (whole.size() * 8);
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    write_file(file("model.safetensors"), damaged);
    ASSERT_EQ(damage().substr(0, 10), "DATA_LOSS:") << bit;
  }
}

// ---- checked while it is read ----

class CheckedWhileRead : public CheckpointReading {
 protected:
  // Returns the error of opening, or else of reading all of it, without the path.
  std::string damage_when_read(const SaverUse& saver) {
    std::string text = error_of([&] {
      CheckpointReader::open(run_->open_directory("model.ckpt-30"), CheckFiles::kWhenRead)
          ->read(saver,
                 {{"dense/kernel", kernel_.view()}, {"dense/bias", bias_.view()}, {"global_step", step_.view()}});
    });
    const std::string prefix = "'" + path() + "': ";
    const std::size_t at = text.find(prefix);
    return at == text.npos ? text : text.erase(at, prefix.size());
  }
  std::string damage_when_read() { return damage_when_read(saver_.use()); }

  Tensor kernel_{DType::kFloat32, {15}}, bias_{DType::kFloat64, {3}}, step_{std::int64_t{-1}};
};

TEST_F(CheckedWhileRead, AWholeOneIsReadOnceAndRight) {
  FaultyFileSystem files(posix_file_system());
  const auto reader = CheckpointReader::open(files.open_directory(path()), CheckFiles::kWhenRead);
  reader->read(saver_.use(),
               {{"dense/kernel", kernel_.view()}, {"dense/bias", bias_.view()}, {"global_step", step_.view()}});
  EXPECT_EQ(TensorView(step_.view()).scalar<std::int64_t>(), 30);
  EXPECT_EQ(std::memcmp(kernel_.view().data, content_.content().variables[0].tensor.data, 60), 0);
  const std::vector<std::string> calls = files.calls();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "read model.safetensors"), 5)
      << "the header's length, the header, three tensors";
}

TEST_F(CheckedWhileRead, DamageIsFoundInTheWordsOfOneThatIsCheckedWhenOpened) {
  const std::string whole = read_file(file("model.safetensors"));
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    const std::size_t bit = random() % (whole.size() * 8);
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    write_file(file("model.safetensors"), damaged);
    const std::string found = damage_when_read();
    ASSERT_EQ(found.substr(0, 10), "DATA_LOSS:") << bit;
    ASSERT_EQ(found, damage()) << bit;
  }
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_file(file("model.safetensors"), whole.substr(0, n));
    ASSERT_EQ(damage_when_read(), damage()) << n;
  }
}

// A saver that leaves out what it need not read leaves out damage, too.
TEST_F(CheckedWhileRead, WhatTheSaverDidNotReadIsCheckedAsWell) {
  std::string data = read_file(file("model.safetensors"));
  ScriptedSaver saver;
  saver.read = [&](Directory& directory, TensorSink& tensors) {
    const File opened = directory.open("model.safetensors");
    const std::uint64_t begin = opened.size() - 8;
    for (const TensorInfo& t : open()->tensors()) {
      void* memory = tensors.found(t.name, t.dtype, t.dims);
      const TensorView values(t.name == "dense/kernel" ? content_.content().variables[0].tensor
                              : t.name == "dense/bias" ? content_.content().variables[1].tensor
                                                       : content_.content().variables[2].tensor);
      std::memcpy(memory, values.data(), values.bytes());
    }
    char end[8];
    opened.read_at(begin, end, sizeof(end));
  };
  CheckpointIndex index = parse_index(read_file(file("index")));
  index.saver = "scripted";
  write_file(file("index"), format_index(index));
  EXPECT_EQ(damage_when_read(saver.use()), "");
  data[9] = static_cast<char>(data[9] ^ 1);
  write_file(file("model.safetensors"), data);
  EXPECT_THAT(damage_when_read(saver.use()),
              ::testing::StartsWith("DATA_LOSS: [B4010] model.safetensors has the CRC32C "));
}

TEST_F(CheckpointReading, AStateOfAnotherStepIsFound) {
  // A state file of another checkpoint, with an index that vouches for it.
  CheckpointIndex index = parse_index(read_file(file("index")));
  std::string state = read_file(file("state"));
  state.replace(state.find("\"global_step\": 30"), 17, "\"global_step\": 31");
  write_file(file("state"), state);
  index.files.back().crc32c = crc32c(state);
  write_file(file("index"), format_index(index));
  EXPECT_EQ(damage(), "DATA_LOSS: [B4020] state: global_step is 31, but the index records 30");
}

// The tensors that the saver finds are checked against the index too.
TEST_F(CheckpointReading, ASaverThatReadsSomethingElseIsFound) {
  const float values[15] = {1};
  Tensor kernel(DType::kFloat32, {15});
  ScriptedSaver saver;
  saver.write = [](Directory& d, TensorSource&) { d.create("data").close(); };
  write_checkpoint(*run_, StepContent(31).content(), saver.use(), log_);
  const auto reader = CheckpointReader::open(run_->open_directory("model.ckpt-31"));
  const auto announce = [](TensorSink& sink) {
    sink.found("dense/bias", DType::kFloat64, {3});
    sink.found("global_step", DType::kInt64, {});
  };
  const struct {
    std::function<void(Directory&, TensorSink&)> read;
    std::string expected;
  } cases[] = {
      {[&](Directory&, TensorSink& s) { announce(s); },
       "[B4024] the saver 'scripted' did not find tensor 'dense/kernel'"},
      {[&](Directory&, TensorSink& s) {
         announce(s);
         std::memcpy(s.found("dense/kernel", DType::kFloat32, {15}), values, sizeof(values));
       },
       "[B4024] the files are whole, and tensor 'dense/kernel' has the CRC32C " +
           crc_text(crc32c(values, sizeof(values))) + " as the saver 'scripted' read it, but the index records " +
           crc_text(crc32c(TensorView(StepContent(31).content().variables[0].tensor).data(), 60))},
      {[&](Directory&, TensorSink& s) {
         announce(s);
         s.found("dense/kernel", DType::kFloat32, {3, 5});
       },
       "saver 'scripted': [B4007] tensor 'dense/kernel' is float32 [3, 5]; float32 [15] was expected"},
      {[&](Directory&, TensorSink& s) {
         s.found("dense/bias", DType::kFloat32, {3});
         s.found("global_step", DType::kInt64, {});
         std::memcpy(s.found("dense/kernel", DType::kFloat32, {15}), StepContent(31).content().variables[0].tensor.data,
                     60);
       },
       "[B4024] the saver 'scripted' found tensor 'dense/bias' as float32 [3], but the index records float64 [3]"},
      {[&](Directory&, TensorSink& s) {
         announce(s);
         std::memcpy(s.found("dense/kernel", DType::kFloat32, {15}), StepContent(31).content().variables[0].tensor.data,
                     60);
         s.found("dense/lost", DType::kFloat32, {});
       },
       "[B4024] the saver 'scripted' found tensor 'dense/lost', which it has not written: the index does not have it"},
      {[&](Directory&, TensorSink& s) { announce(s), announce(s); },
       "saver 'scripted': [B4007] tensor 'dense/bias' is there twice"},
      {[&](Directory&, TensorSink& s) { s.found("dense/bias", DType::kFloat64, {-3}); },
       "saver 'scripted': [B4007] tensor 'dense/bias' is float64 [?], which has no size"},
  };
  for (const auto& c : cases) {
    saver.read = c.read;
    EXPECT_EQ(error_of([&] {
                reader->read(saver.use(), {{"dense/kernel", kernel.view()}});
              }),
              "DATA_LOSS: '" + (dir_ / "model.ckpt-31") + "': " + c.expected);
  }
  for (const char* hosts : {"index", "state", "state.data"}) {
    saver.read = [&](Directory& d, TensorSink&) { d.open(hosts); };
    EXPECT_EQ(error_of([&] { reader->read(saver.use(), {}); }),
              "NOT_FOUND: '" + (dir_ / "model.ckpt-31") + "': saver 'scripted': [B4018] the checkpoint has no file \"" +
                  hosts + "\"");
  }
}

TEST_F(CheckpointReading, AnythingThatAUserNamesIsOpened) {
  FileSystem& files = posix_file_system();
  write_checkpoint(*run_, StepContent(40).content(), saver_.use(), log_);
  EXPECT_EQ(open_stored_tensors(files, path(), saver_.use(), log_)->path(), path());
  EXPECT_EQ(open_stored_tensors(files, dir_.path(), saver_.use(), log_)->path(), dir_ / "model.ckpt-40");
  const auto foreign = open_stored_tensors(files, file("model.safetensors"), saver_.use(), log_);
  EXPECT_EQ(foreign->path(), file("model.safetensors"));
  EXPECT_EQ(foreign->tensors(), open()->tensors());
  Tensor kernel(DType::kFloat32, {15});
  foreign->read(saver_.use(), {{"dense/kernel", kernel.view()}});
  EXPECT_EQ(std::memcmp(kernel.view().data, content_.content().variables[0].tensor.data, 60), 0);
}

TEST_F(CheckpointReading, AForeignFileMayHaveAnyName) {
  std::filesystem::copy_file(file("model.safetensors"), dir_ / "pretrained.bin");
  EXPECT_EQ(open_stored_tensors(posix_file_system(), dir_ / "pretrained.bin", saver_.use(), log_)->tensors().size(),
            3u);
}

TEST_F(CheckpointReading, T_62b_ATensorOfAForeignTypeIsSkippedUnlessItIsWanted) {
  std::string header =
      R"({"ids":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  const std::string data("\1\0\2\0\0\0\x80\x3f", 8);
  const std::string path = dir_ / "pretrained.safetensors";
  write_file(path, length + header + data);
  FileSystem& files = posix_file_system();
  const auto foreign = open_stored_tensors(files, path, saver_.use(), log_);
  Tensor w(DType::kFloat32, {1}), ids(DType::kInt32, {2});
  foreign->read(saver_.use(), {{"w", w.view()}});
  EXPECT_EQ(TensorView(w.view()).scalar<float>(), 1.0f);
  EXPECT_EQ(error_of([&] {
              foreign->read(saver_.use(), {{"ids", ids.view()}});
            }),
            "INVALID_ARGUMENT: [B4023] tensor 'ids' is of a type that belay does not have, [2] in '" + path +
                "', the memory for it is int32 [2]");
  // Damage names the file that is there, not the one that the saver would write.
  write_file(path, length + header + data + "x");
  EXPECT_EQ(
      error_of([&] { open_stored_tensors(files, path, saver_.use(), log_); }),
      "DATA_LOSS: '" + path +
          "': saver 'safetensors': the .safetensors file: the tensors end at data byte 8, and 1 bytes follow them");
}

TEST_F(CheckpointReading, TensorsOfStringsAreListedAndInTheWayOfNoOther) {
  ScriptedSaver saver;
  saver.read = [](Directory& directory, TensorSink& tensors) {
    directory.open("model.index");
    EXPECT_EQ(tensors.found("words", DType::kString, {2}), nullptr);
    if (void* w = tensors.found("w", DType::kFloat32, {})) *static_cast<float*>(w) = 1.0f;
  };
  const std::string path = dir_ / "x.index";
  write_file(path, "");
  const auto foreign = open_stored_tensors(posix_file_system(), path, saver.use(), log_);
  EXPECT_EQ(foreign->tensors(), (std::vector<TensorInfo>{{"w", DType::kFloat32, {}}, {"words", DType::kString, {2}}}));
  Tensor w(0.0f), words(DType::kString, {2});
  foreign->read(saver.use(), {{"w", w.view()}});
  EXPECT_EQ(TensorView(w.view()).scalar<float>(), 1.0f);
  EXPECT_THAT(error_of([&] {
                foreign->read(saver.use(), {{"words", words.view()}});
              }),
              ::testing::HasSubstr("tensor 'words' is of strings, which belay does not restore"));
}

TEST_F(CheckpointReading, SAVER_14_WhatCannotBeOpenedSaysWhy) {
  FileSystem& files = posix_file_system();
  EXPECT_EQ(error_of([&] { open_stored_tensors(files, dir_ / "no", saver_.use(), log_); }),
            "NOT_FOUND: [B4025] there is no '" + (dir_ / "no") + "'");
  std::filesystem::create_directory(dir_ / "empty");
  EXPECT_EQ(error_of([&] { open_stored_tensors(files, dir_ / "empty", saver_.use(), log_); }),
            "NOT_FOUND: [B4025] '" + (dir_ / "empty") +
                "' is neither a checkpoint (it has no index) nor holds one (no model.ckpt-*)");
  write_file(dir_ / "text", "hello, hello");
  EXPECT_EQ(error_of([&] {
              open_stored_tensors(files, dir_ / "text", saver_.use(), log_);
            }).substr(0, 11 + dir_.path().size()),
            "DATA_LOSS: '" + dir_.path().substr(0, dir_.path().size() - 1));
}

}  // namespace
}  // namespace belay::runtime
