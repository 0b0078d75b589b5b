// SPDX-License-Identifier: Apache-2.0
// Measures the cost of adding an event on its thread. For comparison protobuf serializes a filled message into a string
// that has room. Blocks of both take turns in one process, and CPU time of that thread counts. Writing to the file
// comes between the blocks, because another thread does it in a run. The file is in a folder in memory
// (BELAY_BENCH_DIR; /dev/shm if that is unset).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "runtime/events/event_writer.h"
#include "runtime/events/proto/event.pb.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {
namespace {

std::string folder() {
  const char* named = std::getenv("BELAY_BENCH_DIR");
  return std::string(named == nullptr ? "/dev/shm" : named) + "/belay_bench_events." + std::to_string(getpid());
}

double cpu_nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <class F>
double block(int events, F&& add) {
  const double start = cpu_nanoseconds();
  for (int i = 0; i < events; ++i) add(i);
  return (cpu_nanoseconds() - start) / events;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

pb::Event event_of(const pb::Summary& summary) {
  pb::Event event;
  *event.mutable_summary() = summary;
  return event;
}

pb::Summary scalar_summary() {
  pb::Summary summary;
  summary.add_value()->set_tag("training/loss");
  summary.mutable_value(0)->set_simple_value(0.5f);
  return summary;
}

// Returns a histogram of weights, as the summary operation makes it of some thousand numbers around 0.
pb::Summary histogram_summary() {
  pb::Summary summary;
  summary.add_value()->set_tag("dense/kernel");
  pb::HistogramProto& h = *summary.mutable_value(0)->mutable_histo();
  h.set_min(-1), h.set_max(1), h.set_num(10000), h.set_sum(3), h.set_sum_squares(900);
  for (int i = 0; i < 200; ++i) h.add_bucket_limit(i * 0.01 - 1), h.add_bucket(i);
  return summary;
}

// Returns a picture of 28 x 28 as PNG.
pb::Summary image_summary() {
  pb::Summary summary;
  summary.add_value()->set_tag("digits/image/0");
  pb::Summary::Image& image = *summary.mutable_value(0)->mutable_image();
  image.set_width(28), image.set_height(28), image.set_colorspace(1);
  image.set_encoded_image_string(std::string(400, 'p'));
  return summary;
}

void compare(benchmark::State& state, pb::Event event, const std::function<void(EventWriter&, int)>& add) {
  Clock& clock = system_clock();
  std::string bytes;
  // These take less than the 256 KiB that wake the writer's thread.
  const int events = static_cast<int>((std::size_t{200} << 10) / (event.ByteSizeLong() + 50));
  const auto serialize = [&](int i) {
    event.set_wall_time(static_cast<double>(clock.wall_ns()) * 1e-9);
    event.set_step(i);
    for (pb::Summary::Value& v : *event.mutable_summary()->mutable_value())
      if (v.has_simple_value()) v.set_simple_value(static_cast<float>(i));
    event.SerializeToString(&bytes);
    benchmark::DoNotOptimize(bytes.data());
  };
  const std::unique_ptr<OpenDirectory> run = posix_file_system().make_directories(folder());
  std::vector<double> protobuf, ours, ratio;
  {
    EventWriter writer(*run, clock);
    const auto adds = [&] {
      const double nanoseconds = block(events, [&](int i) { add(writer, i); });
      writer.flush();
      return nanoseconds;
    };
    adds(), adds(), block(events, serialize);  // warm-up
    for (auto _ : state) {
      protobuf.push_back(block(events, serialize));
      ours.push_back(adds());
      ratio.push_back(ours.back() / protobuf.back());
    }
  }
  const std::size_t slash = folder().rfind('/');
  posix_file_system().open_directory(folder().substr(0, slash))->remove_tree(folder().substr(slash + 1));
  state.counters["protobuf_ns"] = median(protobuf);
  state.counters["event_ns"] = median(ours);
  state.counters["ratio"] = median(ratio);
}

void scalar(benchmark::State& state) {
  compare(state, event_of(scalar_summary()),
          [](EventWriter& writer, int i) { writer.add_scalar("training/loss", i, i); });
}
void histogram(benchmark::State& state) {
  const std::string summary = histogram_summary().SerializeAsString();
  compare(state, event_of(histogram_summary()), [&](EventWriter& writer, int i) { writer.add_summary(summary, i); });
}
void image(benchmark::State& state) {
  const std::string summary = image_summary().SerializeAsString();
  compare(state, event_of(image_summary()), [&](EventWriter& writer, int i) { writer.add_summary(summary, i); });
}
// Pairs of blocks.
BENCHMARK(scalar)->Iterations(300);
BENCHMARK(histogram)->Iterations(300);
BENCHMARK(image)->Iterations(300);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
