// SPDX-License-Identifier: Apache-2.0
// Manifests made to hurt: each is refused, or read, fast and in bounded memory.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>

#include "tests/manifest/parsed.h"
#include "tests/platform/temp_dir.h"

// The bytes that this program holds on the heap, and the most that it held.
static std::atomic<std::size_t> heap_now{0}, heap_most{0};

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size == 0 ? 1 : size);
  const std::size_t now = heap_now += malloc_usable_size(memory);
  std::size_t most = heap_most;
  while (now > most && !heap_most.compare_exchange_weak(most, now)) continue;
  return memory;
}
void* operator new(std::size_t size) {
  void* memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) heap_now -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace belay::runtime {
namespace {

using namespace std::string_literals;

constexpr double kMebibyte = 1 << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPortion = 8;  // of the largest manifests, which would take long there
#else
constexpr int kPortion = 1;
#endif

template <class Line>
std::string lines(int count, Line&& line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += line(std::to_string(i));
  return out;
}

struct Cost {
  std::string errors;
  double seconds;    // of processor time
  double mebibytes;  // on the heap, at most
};

Cost cost_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  const std::size_t before = heap_now;
  heap_most = before;
  const std::clock_t start = std::clock();
  Cost cost;
  cost.errors = parsed(text, sets).errors;
  cost.seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  cost.mebibytes = double(heap_most - before) / kMebibyte;
  return cost;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(Limits, WhatIsRefusedIsRefusedAtOnce) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"a" + repeated(".a", 40'000) + " = 1", "train.toml:1:1: error[B1006]: this key has more than 64 parts"},
      {"[a" + repeated(".a", 40'000) + "]", "train.toml:1:1: error[B1006]: this key has more than 64 parts"},
      {"a = " + repeated("[", 100'000),
       "train.toml:1:68: error[B1006]: this has more than 64 levels of tables and lists"},
      {"a = " + repeated("{a=", 100'000),
       "train.toml:1:194: error[B1006]: this has more than 64 levels of tables and lists"},
      {repeated("[", 100'000),
       "train.toml:1:3: error[B1011]: syntax error (key): expected bare key starting character or string delimiter, "
       "saw '['"},
      {"a = \"" + std::string(4 << 20, 'x') + "\"", "train.toml: error[B1002]: this is larger than 1 MiB"},
      {std::string(1 << 20, '"'),
       "train.toml:1:1: error[B1011]: syntax error (key): multi-line strings are prohibited in keys"},
      {std::string(1 << 20, '\0'), "train.toml:1:1: error[B1005]: this is a NUL byte, and a manifest is text"},
      {std::string(1 << 20, '\xff'), "train.toml:1:1: error[B1005]: the byte \\xff is no UTF-8"},
      {repeated("a = 1\n", 100'000), "train.toml:2:1: error[B1009]: \"a\" is given twice"},
  };
  for (const auto& c : cases) {
    const Cost cost = cost_of(c.text);
    EXPECT_EQ(first_line(cost.errors), c.expected);
    EXPECT_LT(cost.errors.size(), 2000u);
    EXPECT_LT(cost.seconds, 0.5) << c.expected;
    EXPECT_LT(cost.mebibytes, std::max(4 * double(c.text.size()) / kMebibyte, 1.0)) << c.expected;
  }
}

TEST(Limits, AHugeFileIsNotRead) {
  TempDir dir;
  std::ofstream(dir / "huge.toml") << "a = 1\n";
  std::filesystem::resize_file(dir / "huge.toml", std::uintmax_t{1} << 30);
  const std::size_t before = heap_now;
  heap_most = before;
  Diagnostics problems;
  EXPECT_FALSE(parse_manifest(dir / "huge.toml", {}, test_environment(), problems));
  EXPECT_EQ(problems.text(), dir / "huge.toml" +
                                 ": error[B1002]: this is larger than 1 MiB\n"
                                 "  help: keep data in files that the manifest names\n");
  EXPECT_LT(double(heap_most - before), 4 * kMebibyte);
}

TEST(Limits, ALargeManifestIsReadInBoundedTimeAndMemory) {
  const std::string texts[] = {
      "[model]\nplugin = 'a'\nx = \"" + std::string(1'000'000, 'x') + "\"",
      "[model]\nplugin = 'a'\nx = [" + repeated("1,", 500'000 / kPortion) + "]",
      "[model]\nplugin = 'a'\nx = [" + repeated("{a=1},", 140'000 / kPortion) + "]",
      "[model]\nplugin = 'a'\n" + lines(70'000 / kPortion, [](const std::string& i) { return "k" + i + " = 1\n"; }),
      "[run]\n" + lines(70'000 / kPortion, [](const std::string& i) { return "k" + i + " = 1\n"; }),
      "run = {" + lines(70'000 / kPortion, [](const std::string& i) { return "k" + i + " = 1, "; }) + "x = 1}",
      lines(70'000 / kPortion, [](const std::string& i) { return "[t" + i + "]\n"; }),
      lines(50'000 / kPortion, [](const std::string& i) { return "a" + i + ".b.c = 1\n"; }),
      lines(38'000 / kPortion, [](const std::string& i) { return "[a" + i + ".b]\n"; }) +
          lines(38'000 / kPortion, [](const std::string& i) { return "[a" + i + "]\n"; }),
      repeated("[[hooks]]\n", 100'000 / kPortion),
      "[plugins]\npath = [" + repeated("\"${NOPE}\",", 90'000 / kPortion) + "]",
      std::string(1 << 20, '\n'),
      std::string(1 << 20, '#'),
  };
  for (const std::string& text : texts) {
    ASSERT_LE(text.size(), kMaxManifestBytes) << text.substr(0, 40);
    const Cost cost = cost_of(text);
    EXPECT_NE(cost.errors, "");
    EXPECT_LT(cost.errors.size(), 100'000u);
    EXPECT_LT(cost.seconds, 5) << text.substr(0, 40);  // a tenth of this in a release build
    EXPECT_LT(cost.mebibytes, 256) << text.substr(0, 40);
  }
}

TEST(Limits, SetsHaveTheLimitsOfManifests) {
  EXPECT_EQ(first_line(cost_of(kRest, {"a" + repeated(".a", 70) + "=1"}).errors),
            "--set a" + repeated(".a", 70) + ": error[B1006]: this key has more than 64 parts");
  EXPECT_EQ(first_line(cost_of(kRest, {"run.x=" + repeated("[", 70)}).errors),
            "--set run.x: error[B1006]: this has more than 64 levels of tables and lists");
  EXPECT_EQ(first_line(cost_of(kRest, {"run.dir=" + std::string(4 << 20, 'x')}).errors),
            "--set run.dir: error[B1002]: this is larger than 1 MiB");
}

}  // namespace
}  // namespace belay::runtime
