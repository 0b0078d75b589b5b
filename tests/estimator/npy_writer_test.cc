// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/npy_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/estimator/prediction_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr PredictionFormat kNpy = PredictionFormat::kNpy;

class Npy : public WriterTest {};

std::string padded(std::string dict, std::size_t total) {
  dict.insert(0, std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>((total - 10) & 255) +
                     static_cast<char>((total - 10) >> 8));
  dict.append(total - 1 - dict.size(), ' ');
  return dict + "\n";
}
template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Returns the bytes at the other end of a pipe; `write` gets the end to write to.
template <class Write>
std::string through_a_pipe(Write&& write) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::string text;
  std::thread reader([&] {
    char part[4096];
    for (ssize_t n; (n = ::read(ends[0], part, sizeof(part))) > 0;) text.append(part, static_cast<std::size_t>(n));
  });
  write(ends[1]);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  return text;
}

TEST_F(Npy, IsAHeaderWithTheNumberOfRowsAndTheElements) {
  const std::vector<float> first{1, 2, 3, 4}, last{5, 6};
  const Synthetic two({{"p", Tensor({2, 2}, first)}}), one({{"p", Tensor({1, 2}, last)}});
  const std::string file = written(kNpy, {&two, &one});
  EXPECT_EQ(file, padded("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 128) + raw(first) + raw(last));
  EXPECT_EQ(totals.examples, 3);
  EXPECT_THAT(read_back("npy", dir / "predictions", "float32"),
              ElementsAre("3f800000,40000000", "40400000,40800000", "40a00000,40c00000"));
}

TEST_F(Npy, OfAnIntegerAnExampleHasOneDimension) {
  const std::vector<std::int64_t> values{7, -9007199254740993};
  const Synthetic batch({{"class", Tensor({2}, values)}}, Tensor({2}, std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(written(kNpy, {&batch}),
            padded("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 128) + raw(values));
  EXPECT_THAT(read_back("npy", dir / "predictions", "int64"), ElementsAre("0000000000000007", "ffdfffffffffffff"));
}

TEST_F(Npy, OfOtherTypesHasNumpysNames) {
  struct Case {
    Tensor value;
    const char* descr;
  };
  for (const Case& c :
       {Case{Tensor({1}, std::vector<double>{1}), "<f8"}, Case{Tensor({1}, std::vector<std::int32_t>{1}), "<i4"},
        Case{Tensor({1}, std::vector<std::uint8_t>{1}), "|u1"}, Case{Tensor({1}, std::vector<bool>{true}), "|b1"},
        Case{Tensor(DType::kFloat16, {1}), "<f2"}}) {
    const Synthetic batch({{"p", c.value}});
    EXPECT_EQ(written(kNpy, {&batch}),
              padded(std::string("{'descr': '") + c.descr + "', 'fortran_order': False, 'shape': (1,), }", 128) +
                  std::string(static_cast<const char*>(c.value.view().data), TensorView(c.value.view()).bytes()));
  }
}

TEST_F(Npy, HasBfloat16AsFloat32) {
  const Tensor brain(DType::kBFloat16, {2});
  static_cast<std::uint16_t*>(brain.view().data)[0] = 0x3eab;
  static_cast<std::uint16_t*>(brain.view().data)[1] = 0x7fc0;
  const Synthetic batch({{"p", brain}});
  written(kNpy, {&batch});
  EXPECT_THAT(read_back("npy", dir / "predictions", "float32"), ElementsAre("3eab0000", "nan"));
}

TEST_F(Npy, AnotherReaderFindsTheSameBitsOfTenThousandNumbers) {
  const std::vector<float> values = random_floats<float, std::uint32_t>(10000);
  const Synthetic batch({{"p", Tensor({10000}, values)}});
  written(kNpy, {&batch});
  const std::vector<std::string> lines = read_back("npy", dir / "predictions", "float32");
  ASSERT_EQ(lines.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(lines[i], (bits_of<float, std::uint32_t>(values[i]))) << i;
}

TEST_F(Npy, HoldsOneArray) {
  const Synthetic batch({{"probabilities", Tensor({1}, {1.f})}, {"class", Tensor({1}, {1.f})}});
  EXPECT_EQ(
      error_of([&] { to_file(kNpy)->write(batch.batch()); }),
      "INVALID_ARGUMENT: [B5034] npy holds one array, and the model predicts probabilities, class: choose one of them "
      "with predict.keys (--keys), or write JSON lines or CSV");
}

TEST_F(Npy, RefusesTextAndExamplesOfAnotherShape) {
  const Synthetic text({{"name", texts({"a"})}});
  EXPECT_EQ(
      error_of([&] { to_file(kNpy)->write(text.batch()); }),
      "INVALID_ARGUMENT: [B5034] npy has no form for prediction 'name', which is string: write JSON lines or CSV");
  const Synthetic narrow({{"p", Tensor({1, 2}, {1.f, 2.f})}}), wide({{"p", Tensor({1, 3}, {1.f, 2.f, 3.f})}});
  const auto writer = to_file(kNpy);
  writer->write(narrow.batch());
  EXPECT_EQ(
      error_of([&] { writer->write(wide.batch()); }),
      "INVALID_ARGUMENT: [B5034] npy holds one array, and an example of 'p' was [2] and is now [3]: write JSON lines");
  EXPECT_EQ(error_of([&] { to_file(kNpy)->finish(); }),
            "FAILED_PRECONDITION: [B5037] there are no predictions, and so no array to write");
}

TEST_F(Npy, IntoAPipeIsTheSameBytesAndLeavesNothingBehind) {
  const Synthetic batch({{"p", Tensor({20000, 2}, random_floats<float, std::uint32_t>(40000))}});
  const std::string file = written(kNpy, {&batch, &batch});
  std::filesystem::remove(dir / "predictions");
  FaultyFileSystem files(posix_file_system());
  const std::string piped = through_a_pipe([&](int end) {
    const auto writer = make_prediction_writer(kNpy, prediction_stream(end, "stdout"), files, dir.path());
    EXPECT_TRUE(writer->write(batch.batch()));
    EXPECT_TRUE(writer->write(batch.batch()));
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));  // the rows wait in a file without a name
    EXPECT_TRUE(writer->finish());
  });
  EXPECT_TRUE(piped == file);
  EXPECT_THAT(without_random_digits(files.calls_without_repeats()),
              ElementsAre("open_directory .", "create belay-predictions.tmp", "remove belay-predictions.tmp",
                          "write belay-predictions.tmp", "read belay-predictions.tmp"));
}

TEST_F(Npy, AFullDiskForTheRowsIsAnError) {
  FaultyFileSystem files(posix_file_system());
  files.fail(FileCall::kWrite, 1, Error(Code::kResourceExhausted, "no space left"));
  const Synthetic batch({{"p", Tensor({1}, {1.f})}});
  through_a_pipe([&](int end) {
    const auto writer = make_prediction_writer(kNpy, prediction_stream(end, "stdout"), files, dir.path());
    EXPECT_EQ(error_of([&] { writer->write(batch.batch()); }), "RESOURCE_EXHAUSTED: no space left");
  });
}

TEST_F(Npy, IsRefusedForATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || ::isatty(terminal) != 1) GTEST_SKIP() << "this system has no pseudo-terminal";
  EXPECT_EQ(
      error_of([&] {
        make_prediction_writer(kNpy, prediction_stream(terminal, "stdout"), posix_file_system(), dir.path());
      }),
      "INVALID_ARGUMENT: [B5034] npy is binary and stdout is a terminal: write to a file, or into another program");
  make_prediction_writer(PredictionFormat::kCsv, prediction_stream(terminal, "stdout"), posix_file_system(),
                         dir.path());
  ::close(terminal);
}

}  // namespace
}  // namespace belay::runtime::testing
