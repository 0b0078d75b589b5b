// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/prediction_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/estimator/prediction_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PredictionFiles : public ::testing::Test {
 protected:
  std::vector<std::string> there() const { return posix_file_system().open_directory(dir.path())->entries(); }

  TempDir dir;
  FaultyFileSystem files{posix_file_system()};
};

TEST_F(PredictionFiles, AppearWholeAtTheEnd) {
  const auto output = prediction_file(files, dir / "p.jsonl");
  output->write("hello ");
  output->write("world\n");
  EXPECT_FALSE(std::filesystem::exists(dir / "p.jsonl"));
  EXPECT_TRUE(output->finish());
  EXPECT_EQ(read_file(dir / "p.jsonl"), "hello world\n");
  EXPECT_THAT(there(), ElementsAre("p.jsonl"));
  EXPECT_THAT(without_random_digits(files.calls_without_repeats()),
              ElementsAre("open_directory .", "create p.jsonl.tmp", "write p.jsonl.tmp", "sync p.jsonl.tmp",
                          "close p.jsonl.tmp", "rename p.jsonl.tmp -> p.jsonl", "sync ."));
}

TEST_F(PredictionFiles, WithoutAnEndDoNotAppear) {
  write_file(dir / "p", "before");
  prediction_file(files, dir / "p")->write(std::string(100000, 'x'));
  EXPECT_THAT(there(), ElementsAre("p"));
  EXPECT_EQ(read_file(dir / "p"), "before");
}

TEST_F(PredictionFiles, ReplaceAFileAtOnce) {
  write_file(dir / "p", "before");
  const auto output = prediction_file(files, dir / "p");
  output->write("after");
  EXPECT_EQ(read_file(dir / "p"), "before");
  output->finish();
  EXPECT_EQ(read_file(dir / "p"), "after");
}

TEST_F(PredictionFiles, CanBeWrittenOver) {
  const auto output = prediction_file(files, dir / "p");
  ASSERT_TRUE(output->can_rewrite());
  output->write("rows: ?\n" + std::string(70000, 'x'));
  output->write_at(6, "2");
  output->write("end");
  output->finish();
  EXPECT_EQ(read_file(dir / "p"), "rows: 2\n" + std::string(70000, 'x') + "end");
}

// Whichever call fails: what was there before stays, and nothing else is left. Behind the rename the file is there.
TEST_F(PredictionFiles, AFaultLeavesWhatWasThere) {
  int failed = 0;
  for (int nth = 1;; ++nth) {
    write_file(dir / "p", "before");
    files.forget_calls();
    files.fail_any(nth, Error(Code::kResourceExhausted, "no space left"));
    const std::string error = error_of([&] {
      const auto output = prediction_file(files, dir / "p");
      output->write(std::string(100000, 'x'));
      output->write_at(0, "y");
      output->finish();
    });
    files.heal();
    if (error.empty() || error == "no error") break;
    ASSERT_LT(++failed, 20);
    EXPECT_EQ(error, "RESOURCE_EXHAUSTED: no space left");
    const bool renamed = files.calls().back() == "sync .";
    EXPECT_EQ(read_file(dir / "p").substr(0, 6), renamed ? "yxxxxx" : "before") << nth;
    EXPECT_THAT(there(), ElementsAre("p")) << nth;
  }
  EXPECT_EQ(failed, 8);
}

TEST_F(PredictionFiles, RefuseWhatIsNoFile) {
  std::filesystem::create_directory(dir / "d");
  std::filesystem::create_symlink("elsewhere", dir / "link");
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const std::string start = "FAILED_PRECONDITION: [B5033] cannot write the predictions to '" + dir.path();
  EXPECT_EQ(error_of([&] { prediction_file(files, dir / "d"); }), start + "/d': it is a directory");
  EXPECT_EQ(error_of([&] { prediction_file(files, dir / "link"); }),
            start + "/link': it is a symbolic link, which would be replaced");
  EXPECT_EQ(error_of([&] { prediction_file(files, dir / "pipe"); }),
            start + "/pipe': it is no regular file; write to stdout, and let the shell lead it there");
  EXPECT_THAT(error_of([&] { prediction_file(files, dir / "nowhere/p"); }), HasSubstr("NOT_FOUND: cannot open"));
  EXPECT_THAT(there(), ElementsAre("d", "link", "pipe"));
}

class PredictionStreams : public ::testing::Test {
 protected:
  PredictionStreams() : before_(::signal(SIGPIPE, SIG_IGN)) { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~PredictionStreams() override {
    ::signal(SIGPIPE, before_);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void (*before_)(int);
  int ends[2];
};

TEST_F(PredictionStreams, ArriveAtOnce) {
  const auto output = prediction_stream(ends[1], "stdout");
  EXPECT_TRUE(output->write("a line\n"));
  char text[16];
  EXPECT_EQ(::read(ends[0], text, sizeof(text)), 7);
  EXPECT_TRUE(output->finish());
  EXPECT_FALSE(output->can_rewrite());
  EXPECT_FALSE(output->is_terminal());
}

TEST_F(PredictionStreams, EndQuietlyWhereNobodyReads) {
  const auto output = prediction_stream(ends[1], "stdout");
  ::close(ends[0]);
  EXPECT_FALSE(output->write("a line\n"));
  EXPECT_FALSE(output->write("another\n"));
  EXPECT_FALSE(output->finish());
}

TEST_F(PredictionStreams, AWriterSaysThatNobodyReads) {
  TempDir dir;
  const Synthetic batch({{"p", Tensor({1}, {1.f})}});
  for (const PredictionFormat format : {PredictionFormat::kJsonLines, PredictionFormat::kCsv, PredictionFormat::kNpy}) {
    const auto writer =
        make_prediction_writer(format, prediction_stream(ends[1], "stdout"), posix_file_system(), dir.path());
    if (format == PredictionFormat::kJsonLines) {
      EXPECT_TRUE(writer->write(batch.batch()));
      ::close(ends[0]);
    }
    const bool taken = writer->write(batch.batch());
    EXPECT_EQ(taken, format == PredictionFormat::kNpy);  // its rows wait for the end
    EXPECT_FALSE(writer->finish());
    EXPECT_TRUE(writer->totals().reader_gone);
  }
}

TEST_F(PredictionStreams, AFullDiskIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "this system has no /dev/full";
  const auto output = prediction_stream(full, "stdout");
  EXPECT_EQ(error_of([&] { output->write("a line\n"); }),
            "RESOURCE_EXHAUSTED: [B5033] cannot write the predictions to stdout: No space left on device");
  ::close(full);
  EXPECT_EQ(error_of([&] { output->write("a line\n"); }),
            "INTERNAL: [B5033] cannot write the predictions to stdout: Bad file descriptor");
}

TEST_F(PredictionStreams, WaitForAReaderThatIsBehind) {
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  const auto output = prediction_stream(ends[1], "stdout");
  std::size_t got = 0;
  std::thread reader([&] {
    char part[4096];
    while (got < 1'000'000) {
      const ssize_t n = ::read(ends[0], part, sizeof(part));
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
  });
  EXPECT_TRUE(output->write(std::string(1'000'000, 'x')));
  reader.join();
  EXPECT_EQ(got, 1'000'000u);
}

}  // namespace
}  // namespace belay::runtime::testing
