// SPDX-License-Identifier: Apache-2.0
// The inputs that come with Belay, each on one thread, into batches as a run has them: examples a second once it runs
// (next/NAME), and what it takes to open it (start/NAME): time, and memory in times the size of its files. The files
// are made anew in a temporary folder: 784 bytes an example where there is a choice, and 111 MB of text.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belay/testing/fake_host.h"
#include "belay/testing/option_values.h"
#include "belay/testing/plugin_library.h"
#include "belay/testing/temporary_folder.h"
#include "plugins/inputs/tfrecord/tfrecord_test_files.h"
#include "runtime/data/input_service.h"

extern "C" const belay_module belay_module_csv, belay_module_digits, belay_module_idx, belay_module_npy,
    belay_module_text, belay_module_tfrecord;

namespace belay::runtime {
namespace {

using belay::testing::FakeHost;
using belay::testing::OptionValues;
using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kRecords = 60'000, kWidth = 784;

struct Case {
  const belay_module* module = nullptr;
  OptionValues options;
  double file_bytes = 0;
};

class Files {
 public:
  Case csv() {
    std::string text = "a,b,c,d,e,f,g,h,y\n";
    for (std::int64_t i = 0; i < 10 * kRecords; ++i) {
      for (std::int64_t column = 0; column < 8; ++column)
        text += std::to_string((i * 37 + column * 11) % 1000) + "." + std::to_string(i % 97) + ",";
      text += std::to_string(i % 3) + "\n";
    }
    return made(belay_module_csv, {{"path", folder_.write("rows.csv", text)}, {"label", "y"}}, text.size());
  }
  Case digits() { return made(belay_module_digits, {}, 0); }
  Case idx() {
    const std::string images = std::string("\0\0\x08\x03", 4) + big(kRecords) + big(28) + big(28) + pixels();
    const std::string labels = std::string("\0\0\x08\x01", 4) + big(kRecords) + std::string(kRecords, '\1');
    return made(belay_module_idx,
                {{"images", folder_.write("images", images)}, {"labels", folder_.write("labels", labels)}},
                images.size() + labels.size());
  }
  Case npy() {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(kRecords) + ", " +
                         std::to_string(kWidth) + "), }";
    header.resize(117, ' ');
    const std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + pixels();
    return made(belay_module_npy, {{"features", folder_.write("x.npy", file)}}, file.size());
  }
  Case text() {
    std::string text;
    const std::string line = "The quick brown fox jumps over the lazy dog; caf\u00e9s are closed on day ";
    for (std::int64_t i = 0; text.size() < 111'000'000; ++i) text += line + std::to_string(i) + "\n";
    const Names files{folder_.write("a.txt", text)};
    return made(belay_module_text, {{"files", files}, {"batch_size", 64}}, text.size());
  }
  Case tfrecord() {
    std::string all;
    for (std::int64_t i = 0; i < kRecords; ++i)
      all += tfrecord_input::framed(tfrecord_input::ExampleBuilder()
                                        .texts("image", {std::string(kWidth, static_cast<char>(i))})
                                        .ints("label", {i % 10})
                                        .bytes());
    return made(belay_module_tfrecord,
                {{"files", Names{folder_.write("a.tfrecord", all)}},
                 {"features.image.dtype", "uint8"},
                 {"features.image.shape", Integers{kWidth}},
                 {"features.label.dtype", "int64"},
                 {"label", "label"}},
                all.size());
  }

 private:
  static Case made(const belay_module& module, const OptionValues& options, std::size_t bytes) {
    return {&module, options, static_cast<double>(bytes)};
  }
  static std::string big(std::int64_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
    return bytes;
  }
  static std::string pixels() {
    std::string bytes(static_cast<std::size_t>(kRecords * kWidth), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
    return bytes;
  }

  belay::testing::TemporaryFolder folder_;
};

// The files are made at the first use. All are removed at the end of the program.
const Case& case_of(const std::string& name) {
  static Files files;
  static const std::map<std::string, std::function<Case()>> makers = {
      {"csv", [] { return files.csv(); }},   {"digits", [] { return files.digits(); }},
      {"idx", [] { return files.idx(); }},   {"npy", [] { return files.npy(); }},
      {"text", [] { return files.text(); }}, {"tfrecord", [] { return files.tfrecord(); }}};
  static std::map<std::string, Case> made;
  if (made.count(name) == 0) made[name] = makers.at(name)();
  return made.at(name);
}

// An input of a run, without its thread and its queue.
class Feed {
 public:
  explicit Feed(const Case& of) : table_(belay::testing::find_table<belay_input_api>(*of.module)) {
    host_.set_service("input", input_service());
    handle_ = of.options.create(host_, table_);
    api_ = belay::detail::adopt(table_);
    call([&](belay_status* status) { return api_.spec(handle_.self(), to_handle(&declaration_), status); });
    call([&](belay_status* status) { return api_.open(handle_.self(), 0, 1, 42, status); });
  }
  // Its examples.
  std::int64_t next() {
    batch_.begin({});
    position_.clear();
    call([&](belay_status* status) { return api_.next(handle_.self(), to_handle(&batch_), &position_.raw, status); });
    return batch_.finish()[0].dims()[0];
  }

 private:
  template <class F>
  static void call(F&& f) {
    belay::detail::Status status;
    status.check(f(status));
  }

  FakeHost host_{"bench"};
  const belay_input_api* table_;
  decltype(std::declval<OptionValues>().create(std::declval<FakeHost&>(), table_)) handle_;
  belay_input_api api_{};
  InputDeclaration declaration_;
  BatchBuilder batch_{declaration_.own.components, BufferPool::make()};
  belay::detail::RawPosition position_;
};

// Returns bytes: "VmHWM" is the most that the process held since the last reset, "VmRSS" is what it holds now.
double memory(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == line + ":") {
      double value = 0;
      status >> value;
      return value * 1024;
    }
  return 0;
}
void forget_most_memory() { std::ofstream("/proc/self/clear_refs") << 5; }

void start(benchmark::State& state, const std::string& name) {
  const Case& of = case_of(name);
  Feed(of).next();  // the file is in the page cache
  malloc_trim(0);   // freed memory that the process kept would hide what the file needs
  forget_most_memory();
  const double before = memory("VmRSS");
  for (auto _ : state) Feed(of).next();
  if (of.file_bytes > 0) state.counters["memory_to_file"] = (memory("VmHWM") - before) / of.file_bytes;
}

void next(benchmark::State& state, const std::string& name) {
  Feed feed(case_of(name));
  std::int64_t examples = 0;
  for (auto _ : state) examples += feed.next();
  state.counters["examples"] = benchmark::Counter(static_cast<double>(examples), benchmark::Counter::kIsRate);
}

#define BELAY_INPUT_BENCHMARKS(name)                                                             \
  BENCHMARK_CAPTURE(start, name, #name)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(next, name, #name)->MeasureProcessCPUTime()->Unit(benchmark::kMicrosecond)
BELAY_INPUT_BENCHMARKS(csv);
BELAY_INPUT_BENCHMARKS(digits);
BELAY_INPUT_BENCHMARKS(idx);
BELAY_INPUT_BENCHMARKS(npy);
BELAY_INPUT_BENCHMARKS(text);
BELAY_INPUT_BENCHMARKS(tfrecord);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
