// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/log/logger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "belay/log_fields.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using namespace std::string_literals;

// Lines of text show local time.
class LoggerTest : public ::testing::Test {
 protected:
  LoggerTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }

  LogOutput captured() {
    LogOutput output;
    output.write = [this](std::string_view text) {
      if (full_) return false;
      out_ += text;
      return true;
    };
    output.columns = [this] { return columns_; };
    return output;
  }
  std::unique_ptr<Logger> text_logger(bool terminal = false, LogLevel level = LogLevel::kInfo) {
    LogOutput output = captured();
    output.terminal = terminal;
    return make_logger(output, LogFormat::kText, level, clock_);
  }
  std::unique_ptr<Logger> json_logger() { return make_logger(captured(), LogFormat::kJson, LogLevel::kDebug, clock_); }

  std::string taken() { return std::exchange(out_, ""); }

  FakeClock clock_{1'704'112'496'789 * FakeClock::kMillisecond};  // 2024-01-01 12:34:56.789
  std::string out_;
  bool full_ = false;
  int columns_ = 40;
};

TEST_F(LoggerTest, ATextLineHasTimeLevelSourceAndMessage) {
  const auto logger = text_logger();
  logger->warning("nan_tensor", "loss is not finite");
  EXPECT_EQ(taken(), "2024-01-01 12:34:56.789 warning nan_tensor: loss is not finite\n");
  logger->info("", "step 5");
  EXPECT_EQ(taken(), "2024-01-01 12:34:56.789 info step 5\n");
  logger->error("saver", "disk full");
  EXPECT_EQ(taken(), "2024-01-01 12:34:56.789 error saver: disk full\n");
}

TEST_F(LoggerTest, TheCodeOfAMessageIsAfterTheLevel) {
  text_logger()->error("saver", "[B4001] disk full");
  EXPECT_EQ(taken(), "2024-01-01 12:34:56.789 error[B4001]: saver: disk full\n");
  json_logger()->warning("", "cannot save: [B4001] disk full");
  const auto line = nlohmann::json::parse(taken());
  EXPECT_EQ(line["code"], "B4001");
  EXPECT_EQ(line["message"], "cannot save: disk full");
  json_logger()->info("", "a key \"[B4001] x\", [B4001] y");
  EXPECT_FALSE(nlohmann::json::parse(taken()).contains("code"));
}

TEST_F(LoggerTest, LowerLevelsAreNotWritten) {
  const auto logger = text_logger(false, LogLevel::kWarning);
  logger->info("", "no");
  logger->log(LogLevel::kDebug, "", "no");
  EXPECT_EQ(taken(), "");
  EXPECT_FALSE(logger->enabled(LogLevel::kInfo));
  EXPECT_TRUE(logger->enabled(LogLevel::kError));
}

TEST_F(LoggerTest, ALineIsALineWhateverTheMessage) {
  const auto logger = text_logger();
  logger->info("a\nb", "\x1b[2J 100%s {} \xff\n");
  EXPECT_EQ(taken(), "2024-01-01 12:34:56.789 info a\\nb: \\x1b[2J 100%s {} \\xff\\n\n");
}

TEST_F(LoggerTest, AJsonLineHasUtcTimeLevelSourceStepAndMessage) {
  const auto logger = json_logger();
  logger->info("progress", "hello");
  EXPECT_EQ(
      taken(),
      "{\"time\":\"2024-01-01T12:34:56.789Z\",\"level\":\"info\",\"source\":\"progress\",\"message\":\"hello\"}\n");
  logger->set_step(17);
  logger->log(LogLevel::kDebug, "", "x");
  EXPECT_EQ(
      taken(),
      "{\"time\":\"2024-01-01T12:34:56.789Z\",\"level\":\"debug\",\"source\":\"\",\"step\":17,\"message\":\"x\"}\n");
}

TEST_F(LoggerTest, JsonTimesHaveMillisecondsAlways) {
  clock_.set_wall_ns(0);
  json_logger()->info("", "x");
  EXPECT_EQ(nlohmann::json::parse(taken())["time"], "1970-01-01T00:00:00.000Z");
}

TEST_F(LoggerTest, JsonLinesAreValidWhateverTheMessage) {
  const auto logger = json_logger();
  const std::string hostile[] = {"\"", "\\", "\n\r\t\0"s, "\xff\xfe", "\xed\xa0\x80", "日本", "\x7f\xc2\x9b", "%n{}"};
  for (const std::string& text : hostile) {
    logger->info(text, text);
    const std::string line = taken();
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    for (const char c : line) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int(c);
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
  logger->info("", "日本");
  EXPECT_EQ(nlohmann::json::parse(taken())["message"], "日本");
}

TEST_F(LoggerTest, TheStatusLineIsForTextOnATerminal) {
  EXPECT_TRUE(text_logger(true)->interactive());
  EXPECT_FALSE(text_logger(false)->interactive());
  LogOutput output = captured();
  output.terminal = true;
  const auto json = make_logger(output, LogFormat::kJson, LogLevel::kInfo, clock_);
  EXPECT_FALSE(json->interactive());
  json->status_line("step 1");
  text_logger(false)->status_line("step 1");
  EXPECT_EQ(taken(), "");
}

TEST_F(LoggerTest, TheStatusLineIsRedrawnAtMostTenTimesASecond) {
  const auto logger = text_logger(true);
  logger->status_line("step 1");
  EXPECT_EQ(taken(), "\r\x1b[?7lstep 1\x1b[K\x1b[?7h\r");
  clock_.advance(99 * FakeClock::kMillisecond);
  logger->status_line("step 2");
  EXPECT_EQ(taken(), "");
  clock_.advance(FakeClock::kMillisecond);
  logger->status_line("step 3");
  EXPECT_EQ(taken(), "\r\x1b[?7lstep 3\x1b[K\x1b[?7h\r");
}

TEST_F(LoggerTest, ALogLineStandsAboveTheLatestStatusLine) {
  const auto logger = text_logger(true);
  logger->status_line("step 1");
  logger->status_line("step 2");
  taken();
  logger->info("", "saved");
  EXPECT_EQ(taken(), "\r\x1b[J12:34:56.789 info saved\n\x1b[?7lstep 2\x1b[K\x1b[?7h\r");
}

TEST_F(LoggerTest, AnEmptyStatusLineTakesItAwayAtOnce) {
  const auto logger = text_logger(true);
  logger->status_line("step 1");
  taken();
  logger->status_line("");
  EXPECT_EQ(taken(), "\r\x1b[J");
  logger->status_line("");
  logger->info("", "done");
  EXPECT_EQ(taken(), "12:34:56.789 info done\n");
}

TEST_F(LoggerTest, FlushDrawsWhatWaits) {
  const auto logger = text_logger(true);
  logger->status_line("step 1");
  logger->status_line("step 2");
  taken();
  logger->flush();
  EXPECT_EQ(taken(), "\r\x1b[?7lstep 2\x1b[K\x1b[?7h\r");
}

TEST_F(LoggerTest, TheStatusLineGoesWithTheLogger) {
  auto logger = text_logger(true);
  logger->status_line("step 1");
  taken();
  logger.reset();
  EXPECT_EQ(taken(), "\r\x1b[J");
}

TEST_F(LoggerTest, TheStatusLineFitsTheTerminal) {
  const auto logger = text_logger(true);
  columns_ = 10;
  logger->status_line("0123456789abcdef");
  EXPECT_EQ(taken(), "\r\x1b[?7l012345678\x1b[K\x1b[?7h\r");
  columns_ = 5;
  logger->info("", "x");
  EXPECT_EQ(taken(), "\r\x1b[J12:34:56.789 info x\n\x1b[?7l0123\x1b[K\x1b[?7h\r");
  columns_ = 0;  // not known: 80
  logger->status_line(std::string(200, 'x'));
  logger->flush();
  EXPECT_EQ(taken(), "\r\x1b[J\x1b[?7l" + std::string(79, 'x') + "\x1b[K\x1b[?7h\r");
}

TEST_F(LoggerTest, TheStatusLineIsEscaped) {
  const auto logger = text_logger(true);
  logger->status_line("a\nb\x1b[31m");
  EXPECT_EQ(taken(), "\r\x1b[?7la\\nb\\x1b[31m\x1b[K\x1b[?7h\r");
}

// The drawn text is then several lines of the terminal, from the cursor on.
TEST_F(LoggerTest, ANarrowerTerminalKeepsNothingOfTheStatusLine) {
  const auto logger = text_logger(true);
  logger->status_line("0123456789");
  taken();
  columns_ = 5;
  clock_.advance(100 * FakeClock::kMillisecond);
  logger->status_line("0123456789");
  EXPECT_EQ(taken(), "\r\x1b[J\x1b[?7l0123\x1b[K\x1b[?7h\r");
  clock_.advance(100 * FakeClock::kMillisecond);
  logger->status_line("9876543210");
  EXPECT_EQ(taken(), "\r\x1b[?7l9876\x1b[K\x1b[?7h\r") << "of the same width it is written over";
}

TEST_F(LoggerTest, RowsAreLinesBelowTheMessageForPeopleOnly) {
  const std::string text = "ended\x1eone  1\x1etwo\n  2\x1f{\"steps\":3}";
  const auto logger = text_logger();
  logger->info("", text);
  EXPECT_EQ(taken(),
            "2024-01-01 12:34:56.789 info ended\n2024-01-01 12:34:56.789 info   one  1\n"
            "2024-01-01 12:34:56.789 info   two\\n  2\n");
  json_logger()->info("", text);
  EXPECT_EQ(taken(),
            "{\"time\":\"2024-01-01T12:34:56.789Z\",\"level\":\"info\",\"source\":\"\",\"message\":\"ended\","
            "\"steps\":3}\n");
}

TEST_F(LoggerTest, FieldsAreMembersOfAJsonLineAndReplaceOnlyTheStep) {
  const auto logger = json_logger();
  logger->set_step(4);
  LogFields fields;
  fields.add("step", 5);
  fields.add("loss", 0.25);
  fields.add("message", "forged");
  fields.add("level", "error");
  logger->info("progress", "step 5, loss 0.25" + fields.text());
  EXPECT_EQ(taken(),
            "{\"time\":\"2024-01-01T12:34:56.789Z\",\"level\":\"info\",\"source\":\"progress\",\"step\":5,"
            "\"message\":\"step 5, loss 0.25\",\"loss\":0.25}\n");
  logger->info("x", "y\x1f{broken");
  EXPECT_EQ(nlohmann::json::parse(taken())["message"], "y\x1f{broken") << "what is no object stays text";
}

TEST_F(LoggerTest, AQuietLogHasNoStatusLine) { EXPECT_FALSE(text_logger(true, LogLevel::kWarning)->interactive()); }

TEST_F(LoggerTest, ColourIsWhatTheCommandLineSays) {
  for (const bool terminal : {false, true}) {
    LogOutput output = captured();
    output.colour = terminal;
    set_colour(output, Colour::kAuto);
    EXPECT_EQ(output.colour, terminal);
    set_colour(output, Colour::kAlways);
    EXPECT_TRUE(output.colour);
    set_colour(output, Colour::kNever);
    EXPECT_FALSE(output.colour);
  }
}

TEST_F(LoggerTest, LevelsAreColouredWhereTheOutputSaysSo) {
  LogOutput output = captured();
  output.colour = true;
  const auto logger = make_logger(output, LogFormat::kText, LogLevel::kInfo, clock_);
  logger->warning("a", "b");
  EXPECT_EQ(taken(), "2024-01-01 12:34:56.789 \x1b[33mwarning\x1b[0m a: b\n");
}

TEST_F(LoggerTest, LostLinesAreCounted) {
  const auto logger = text_logger();
  full_ = true;
  for (int i = 0; i < 3; ++i) logger->info("", "lost");
  full_ = false;
  logger->info("", "back");
  EXPECT_EQ(taken(),
            "2024-01-01 12:34:56.789 warning 3 lines of the log were lost here\n2024-01-01 12:34:56.789 info back\n");
}

TEST_F(LoggerTest, AnOutputThatThrowsHarmsNobody) {
  LogOutput output;
  output.terminal = true;
  output.write = [](std::string_view) -> bool { throw std::runtime_error("broken"); };
  const auto logger = make_logger(output, LogFormat::kText, LogLevel::kInfo, clock_);
  logger->info("", "x");
  logger->status_line("x");
  logger->flush();
}

TEST_F(LoggerTest, LinesOfThreadsDoNotMix) {
  const auto logger = text_logger();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) logger->info("thread", "0123456789");
    });
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "2024-01-01 12:34:56.789 info thread: 0123456789\n";
  EXPECT_EQ(taken(), expected);
}

// Descriptors, as the program has them.

class FdOutputTest : public LoggerTest {
 protected:
  FdOutputTest() { EXPECT_EQ(::pipe2(pipe_, O_CLOEXEC), 0); }
  ~FdOutputTest() override {
    for (const int fd : pipe_)
      if (fd >= 0) ::close(fd);
  }
  void close_end(int end) {
    ::close(pipe_[end]);
    pipe_[end] = -1;
  }
  std::string read_pipe() {
    char text[70'000];
    const ssize_t n = ::read(pipe_[0], text, sizeof(text));
    return n < 0 ? "" : std::string(text, static_cast<std::size_t>(n));
  }

  int pipe_[2];
};

TEST_F(FdOutputTest, WritesToAPipe) {
  make_logger(fd_output(pipe_[1]), LogFormat::kText, LogLevel::kInfo, clock_)->info("", "x");
  EXPECT_EQ(read_pipe(), "2024-01-01 12:34:56.789 info x\n");
}

TEST_F(FdOutputTest, APipeWithoutAReaderDoesNotKill) {
  const auto logger = make_logger(fd_output(pipe_[1]), LogFormat::kText, LogLevel::kInfo, clock_);
  close_end(0);
  logger->info("", "x");  // SIGPIPE has its default action here, which is to end the process
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST_F(FdOutputTest, AFullPipeDropsLinesAndSaysSo) {
  const auto logger =
      make_logger(fd_output(pipe_[1], std::chrono::milliseconds(1)), LogFormat::kText, LogLevel::kInfo, clock_);
  for (int i = 0; i < 100; ++i) logger->info("", std::string(980, 'x'));  // four lines a page of the pipe
  EXPECT_GT(read_pipe().size(), 60'000u);
  logger->info("", "back");
  EXPECT_THAT(read_pipe(),
              ::testing::MatchesRegex("(.*\n)*2024-01-01 12:34:56.789 warning [0-9]+ lines of the log were lost here\n"
                                      "2024-01-01 12:34:56.789 info back\n"));
}

TEST_F(FdOutputTest, AFullDeviceDoesNotThrow) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "there is no /dev/full";
  const LogOutput output = fd_output(fd);
  EXPECT_FALSE(output.write("x\n"));
  ::close(fd);
}

TEST_F(FdOutputTest, AClosedDescriptorIsNeverWrittenTo) {
  const int number = pipe_[1];
  close_end(1);
  const LogOutput output = fd_output(number);
  EXPECT_FALSE(output.write("x\n"));
}

TEST_F(FdOutputTest, AFileThatComesUnderTheNumberLaterIsSafe) {
  TempDir dir;
  const LogOutput output = fd_output(pipe_[1]);
  const int number = pipe_[1];
  close_end(1);
  const int fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd != number) {
    ::dup2(fd, number);
    ::close(fd);
  }
  EXPECT_TRUE(output.write("log\n"));
  EXPECT_EQ(::lseek(number, 0, SEEK_END), 0);
  ::close(number);
  EXPECT_EQ(read_pipe(), "log\n");
}

TEST_F(FdOutputTest, APipeIsNoTerminal) {
  EXPECT_FALSE(fd_output(pipe_[1]).terminal);
  EXPECT_FALSE(fd_output(pipe_[1]).colour);
}

TEST_F(FdOutputTest, ATerminalHasColourUnlessTheUserSaysOtherwise) {
  int master = -1, terminal = -1;
  winsize size{24, 123, 0, 0};
  if (::openpty(&master, &terminal, nullptr, nullptr, &size) != 0) GTEST_SKIP() << "no pseudo-terminals here";
  const struct {
    const char* term;
    const char* no_color;
    bool is_terminal, colour;
  } cases[] = {
      {"xterm", nullptr, true, true},  {"xterm", "", true, true},        {"xterm", "1", true, false},
      {"dumb", nullptr, false, false}, {nullptr, nullptr, false, false}, {"", nullptr, false, false},
  };
  for (const auto& c : cases) {
    c.term == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", c.term, 1);
    c.no_color == nullptr ? ::unsetenv("NO_COLOR") : ::setenv("NO_COLOR", c.no_color, 1);
    const LogOutput output = fd_output(terminal);
    EXPECT_EQ(output.terminal, c.is_terminal) << (c.term == nullptr ? "no TERM" : c.term);
    EXPECT_EQ(output.colour, c.colour);
    EXPECT_EQ(output.columns(), 123);
  }
  ::close(master);
  ::close(terminal);
}

}  // namespace
}  // namespace belay::runtime
