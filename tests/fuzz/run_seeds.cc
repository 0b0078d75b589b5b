// SPDX-License-Identifier: Apache-2.0
// In place of libFuzzer, in builds without it: feeds a parser every file of the folders that are named, and some
// damaged ones made of each: what a fuzzer once began with is read by each build, sanitizers included.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kDamagedOnes = 500;  // of each file

void feed(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string damaged(std::string bytes, std::mt19937& random) {
  for (int n = static_cast<int>(random() % 4); n >= 0 && !bytes.empty(); --n) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
      case 2: bytes.erase(at, random() % 8); break;
      default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 8));
    }
  }
  if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0, inputs = 0;
  std::mt19937 random(1);
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      feed(bytes);
      for (int n = 0; n < kDamagedOnes; ++n) feed(damaged(bytes, random));
      ++files, inputs += 1 + kDamagedOnes;
    }
  std::printf("%d inputs from %d files\n", inputs, files);
  return files == 0 ? 1 : 0;
}
