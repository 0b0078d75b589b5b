// SPDX-License-Identifier: Apache-2.0
// Measures a checkpoint of 16 variables, of MIB MiB in all, while nothing is trained. The safetensors saver writes it
// with all syncs, and reads it back with all checksums. For comparison one thread copies as much between warm memory,
// and takes the checksum of as much by our function and by ISA-L's loop. bench/checkpoints.py runs it and divides.
//
//   bench_checkpoint MIB DIRECTORY
//
// Each line on stdin is a round. The answer is a line of JSON with the milliseconds of each: elapsed time for the
// write, and CPU time of the thread for the others, which wait for nothing. It also has the MiB by which writing and
// reading made the process larger, when the variables and the memory to read into exist already. The checkpoint is in
// the page cache when it is read, as after a crash of the process. It goes into warm memory, as in a restore.
#include <isa-l/crc.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/graph/dense_tensor.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/files/file_system.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kVariables = 16;
constexpr std::size_t kPiece = std::size_t{64} << 10;  // in the cache; our savers take checksums there too

double ms_of(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

template <class F>
double milliseconds(clockid_t clock, F&& f) {
  const double start = ms_of(clock);
  f();
  return ms_of(clock) - start;
}

double largest_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Fills it with finite numbers. No two pages are alike.
struct Variables {
  explicit Variables(std::int64_t mib) {
    const std::int64_t elements = mib * (std::int64_t{1} << 20) / kVariables / std::int64_t{sizeof(float)};
    for (std::int64_t i = 0; i < kVariables; ++i) {
      values.emplace_back(DType::kFloat32, Dims{elements});
      for (std::int64_t e = 0; e < elements; ++e) values.back().data<float>()[e] = static_cast<float>(e + i);
      named.push_back({"v" + std::to_string(i), values.back().view()});
    }
  }
  std::vector<DenseTensor> values;
  std::vector<NamedTensor> named;
};

void copy(const Variables& from, const Variables& to) {
  for (std::size_t i = 0; i < from.values.size(); ++i)
    std::memcpy(to.values[i].data(), from.values[i].data(), from.values[i].bytes());
}

// Takes the checksum of all, in pieces that are in the cache after the first pass.
template <class Crc>
double checksum_ms(const Variables& of, Crc&& crc, std::uint32_t& sum) {
  return milliseconds(CLOCK_THREAD_CPUTIME_ID, [&] {
    for (const DenseTensor& v : of.values)
      for (std::size_t pass = 0; pass < v.bytes() / kPiece; ++pass) sum = 31 * sum + crc(v.data(), kPiece);
  });
}

int run(std::int64_t mib, const std::string& path) {
  const Variables model(mib), restored(mib);
  const SafetensorsSaver saver;
  RecordingLogger log;
  const std::unique_ptr<OpenDirectory> directory = posix_file_system().make_directories(path);
  CheckpointContent content;
  content.variables = model.named;
  content.graph_hash = std::string(64, '0');
  std::uint32_t ours = 0, theirs = 0;
  copy(model, restored);
  for (std::string line; std::getline(std::cin, line);) {
    std::string name;
    const double before = largest_mib();
    const double write =
        milliseconds(CLOCK_MONOTONIC, [&] { name = write_checkpoint(*directory, content, saver.use(), log); });
    const double behind_write = largest_mib();
    const double copied = milliseconds(CLOCK_THREAD_CPUTIME_ID, [&] { copy(model, restored); });
    const double read = milliseconds(CLOCK_THREAD_CPUTIME_ID, [&] {
      CheckpointReader::open(directory->open_directory(name), CheckFiles::kWhenRead)->read(saver.use(), restored.named);
    });
    const double behind_read = largest_mib();
    directory->remove_tree(name);
    const double crc = checksum_ms(
        model, [](const void* data, std::size_t size) { return crc32c(data, size); }, ours);
    const double isal = checksum_ms(
        model,
        [](void* data, std::size_t size) {
          return ~crc32_iscsi(static_cast<unsigned char*>(data), static_cast<int>(size), ~std::uint32_t{0});
        },
        theirs);
    if (ours != theirs) return std::fprintf(stderr, "our checksum is not ISA-L's\n"), 1;
    std::printf(
        R"({"write": %.3f, "copy": %.3f, "read": %.3f, "crc": %.3f, "isal": %.3f, "write_mib": %.1f, "read_mib": %.1f})"
        "\n",
        write, copied, read, crc, isal, behind_write - before, behind_read - behind_write);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace belay::runtime

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "bench_checkpoint MIB DIRECTORY\n"), 2;
  return belay::runtime::run(std::atoll(argv[1]), argv[2]);
}
