// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/saver_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "belay/testing/error_of.h"

namespace belay::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The action of the saver under test.
std::function<void(Directory&, const TensorSource&)> write_as;
std::function<void(Directory&, TensorSink&)> read_as;

class Scripted final : public Saver {
 public:
  static constexpr auto about = belay::about("scripted", "Does what the test says");
  void write(Directory& directory, const TensorSource& tensors) override { write_as(directory, tensors); }
  void read(Directory& directory, TensorSink& tensors) override { read_as(directory, tensors); }
};
constexpr belay_saver_api kTable = belay::detail::make_table<Scripted>();

// One tensor, "w", of four bytes, in one file without any check.
void write_plainly(Directory& directory, const TensorSource& tensors) {
  File file = directory.create("data");
  if (tensors.count() != 0) file.write(tensors.get(0).second.data(), 4);
  file.close();
}
void read_plainly(Directory& directory, TensorSink& tensors) {
  const File file = directory.open("data");
  file.read_at(0, tensors.found("w", DType::kUInt8, {4}), 4);
}

class SaverDriverTest : public ::testing::Test {
 protected:
  SaverDriverTest() { write_as = write_plainly, read_as = read_plainly; }
  SaverDriver saver_{&kTable};
  const NamedTensors tensors_ = {
      {"w", Tensor(Dims{4}, {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}, std::uint8_t{4}})}};
};

TEST_F(SaverDriverTest, ASaverThatKeepsEveryBitPasses) {
  EXPECT_EQ(saver_.difference_after_round_trip(tensors_), "");
  EXPECT_EQ(saver_.undetected_truncation("data"), "");
  EXPECT_THAT(saver_.announced(), ElementsAre("w"));
  EXPECT_EQ(saver_.files().contents.at("data"), "\1\2\3\4");
}

TEST_F(SaverDriverTest, DifferencesAreNamed) {
  read_as = [](Directory&, TensorSink& t) { t.found("w", DType::kUInt8, {4}); };  // memory left as it was
  EXPECT_EQ(saver_.difference_after_round_trip(tensors_), "'w' differs");
  read_as = [](Directory&, TensorSink& t) { t.found("v", DType::kUInt8, {4}); };
  EXPECT_EQ(saver_.difference_after_round_trip(tensors_), "'w' is missing");
  read_as = [](Directory&, TensorSink&) {};
  EXPECT_EQ(saver_.difference_after_round_trip(tensors_), "0 tensors instead of 1");
}

TEST_F(SaverDriverTest, ACutThatIsNotNoticedIsNamed) {
  saver_.write(tensors_);
  read_as = [](Directory& d, TensorSink& t) {
    const File file = d.open("data");
    if (file.size() < 2) fail(Code::kDataLoss, "too short");
    t.found("w", DType::kUInt8, {4});
  };
  EXPECT_EQ(saver_.undetected_truncation("data"), "cut to 2 bytes it was read");
  read_as = [](Directory& d, TensorSink&) {
    if (d.open("data").size() < 3) fail(Code::kInternal, "oops");
  };
  EXPECT_EQ(saver_.undetected_truncation("data"), "cut to 0 bytes: INTERNAL: oops");
  EXPECT_EQ(saver_.files().contents.at("data").size(), 4u);
}

TEST_F(SaverDriverTest, OnlyWantedTensorsGetMemory) {
  saver_.write(tensors_);
  read_as = [](Directory&, TensorSink& t) {
    EXPECT_NE(t.found("w", DType::kUInt8, {4}), nullptr);
    EXPECT_EQ(t.found("v", DType::kUInt8, {4}), nullptr);
    EXPECT_NE(t.found("empty", DType::kUInt8, {0}), nullptr);
  };
  EXPECT_EQ(saver_.read(std::set<std::string>{"w", "empty"}).size(), 2u);
  EXPECT_THAT(saver_.announced(), ElementsAre("w", "v", "empty"));
}

TEST_F(SaverDriverTest, WhatBreaksTheContractIsAnError) {
  const struct {
    std::function<void(Directory&, const TensorSource&)> write;
    std::string expected;
  } cases[] = {
      {[](Directory&, const TensorSource&) {}, "FAILED_PRECONDITION: write left no file"},
      {[](Directory& d, const TensorSource&) { d.create("a/b"); }, "INVALID_ARGUMENT: 'a/b' is no file name"},
      {[](Directory& d, const TensorSource&) { d.create(".."); }, "INVALID_ARGUMENT: '..' is no file name"},
      {[](Directory& d, const TensorSource&) { d.create("a").close(), d.create("a"); },
       "ALREADY_EXISTS: cannot create 'a': it exists already"},
      {[](Directory& d, const TensorSource& t) { write_plainly(d, t), d.open("data").write("x", 1); },
       "FAILED_PRECONDITION: 'data' is open for reading"},
      {[](Directory&, const TensorSource& t) { t.get(1); }, "INVALID_ARGUMENT: there is no tensor 1"},
  };
  for (const auto& c : cases) {
    write_as = c.write;
    EXPECT_EQ(error_of([&] { saver_.write(tensors_); }), c.expected);
  }
}

TEST_F(SaverDriverTest, AFileLeftOpenIsAnError) {
  File* open = nullptr;
  write_as = [&](Directory& d, const TensorSource&) { open = new File(d.create("data")); };
  EXPECT_EQ(error_of([&] { saver_.write(tensors_); }), "FAILED_PRECONDITION: write left 'data' open");
  ::operator delete(open);  // the driver has closed it
  EXPECT_THAT(saver_.files().open_files(), IsEmpty());
}

TEST_F(SaverDriverTest, WhatReadAnnouncesIsChecked) {
  saver_.write(tensors_);
  const struct {
    std::function<void(TensorSink&)> read;
    std::string expected;
  } cases[] = {
      {[](TensorSink& t) { t.found("w", DType::kUInt8, {1}), t.found("w", DType::kUInt8, {1}); },
       "ALREADY_EXISTS: 'w' is announced twice"},
      {[](TensorSink& t) { t.found("w", DType::kUInt8, {-1}); }, "INVALID_ARGUMENT: 'w' has a negative dimension"},
      {[](TensorSink& t) {
         t.found("w", DType::kFloat32, {1 << 20, 1 << 20});
       },
       "INVALID_ARGUMENT: 'w' is larger than 1 GiB"},
  };
  for (const auto& c : cases) {
    read_as = [&](Directory&, TensorSink& t) { c.read(t); };
    EXPECT_EQ(error_of([&] { saver_.read(); }), c.expected);
  }
}

TEST_F(SaverDriverTest, ACallFromAnotherThreadIsAnError) {
  write_as = [](Directory& d, const TensorSource& t) {
    write_plainly(d, t);
    std::thread([&] { error_of([&] { d.create("more"); }); }).join();
  };
  EXPECT_EQ(
      error_of([&] { saver_.write(tensors_); }),
      "FAILED_PRECONDITION: files.create was called from a thread of the plugin; it belongs to the session's thread");
}

TEST_F(SaverDriverTest, AFullDiskFailsTheWrite) {
  saver_.files().fill_up_after(3);
  EXPECT_EQ(error_of([&] { saver_.write(tensors_); }),
            "RESOURCE_EXHAUSTED: cannot write 'data': No space left on device");
  saver_.files().fill_up_after(std::nullopt);
  EXPECT_EQ(saver_.difference_after_round_trip(tensors_), "");
}

TEST_F(SaverDriverTest, AHostWithoutTheServiceSaysSo) {
  SaverDriver bare(&kTable, {}, {.without = {"files"}});
  EXPECT_EQ(error_of([&] { bare.write(tensors_); }), "UNIMPLEMENTED: the other side offers no 'files.create'");
}

}  // namespace
}  // namespace belay::testing
