// SPDX-License-Identifier: Apache-2.0
// Measures the memory of the input, counted at operator new.
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

extern "C" const belay_module belay_module_text;

namespace {
std::atomic<std::int64_t> live{0}, most{0};
}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  const std::int64_t now = live += static_cast<std::int64_t>(malloc_usable_size(memory));
  std::int64_t before = most;
  while (before < now && !most.compare_exchange_weak(before, now)) continue;
  return memory;
}
void operator delete(void* memory) noexcept {
  live -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

using belay::testing::InputDriver;
using belay::testing::OptionValues;
using Files = std::vector<std::string>;

TEST(TextMemory, T_44a_OpeningTakesAtMostOneAndThreeTenthsOfTheFile) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  const std::string lines = "The quick brown fox jumps over the lazy dog.\n";
  const std::string words = "\u6587\u5b57\u5217 caf\u00e9 \U0001f600 \u03b1\u03b2\u03b3, and plain words\n";
  for (const std::string& content : {lines, words}) {
    belay::testing::TemporaryFolder folder;
    std::string bytes;
    while (bytes.size() < kBytes) bytes += content;
    const std::string path = folder.write("a.txt", bytes);
    bytes = std::string();
    for (const bool vocabulary : {false, true}) {
      for (const char* split : {"all", "eval"}) {
        OptionValues options{{"files", Files{path}}, {"split", split}, {"shuffle", false}};
        if (vocabulary) options = options.with({"vocabulary_files", Files{path}});
        const std::int64_t before = live;
        most = before;
        InputDriver input(belay_module_text, options);
        input.open();
        input.next();
        EXPECT_LE(static_cast<double>(most - before), 1.3 * static_cast<double>(kBytes)) << content << vocabulary;
      }
    }
  }
}

}  // namespace
