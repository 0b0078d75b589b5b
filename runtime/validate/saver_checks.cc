// SPDX-License-Identifier: Apache-2.0
// Checks that a saver reads back everything it wrote, and finds damage.
#include <fmt/core.h>

#include <cstring>
#include <random>

#include "belay/testing/testing.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace saver_cases {

using belay::testing::NamedTensors;
using belay::testing::SaverDriver;

Tensor filled(DType dtype, const Dims& dims, std::uint64_t seed) {
  Tensor t(dtype, dims);
  std::mt19937_64 random(seed);
  auto* bytes = static_cast<unsigned char*>(t.view().data);
  for (std::size_t i = 0; i < t.size() * dtype_size(dtype); ++i)
    bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? random() & 1 : random());
  return t;
}

NamedTensors usual_tensors(std::uint64_t seed) {
  return {{"dense/kernel", filled(DType::kFloat32, {3, 5}, seed)},
          {"dense/bias", filled(DType::kFloat32, {5}, seed + 1)},
          {"global_step", filled(DType::kInt64, {}, seed + 2)}};
}

void round_trip(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  std::string difference;
  const auto compare = [&](const std::string& what, const NamedTensors& tensors) {
    must_succeed("writing and reading " + what, [&] { difference = saver.difference_after_round_trip(tensors); });
    if (!difference.empty()) throw CheckFailed(what + ", written and read: " + difference);
  };
  compare("a model's variables", usual_tensors(subject.seed));
  compare("no tensors", {});
  compare("an empty and a large tensor", {{"empty", filled(DType::kFloat32, {0, 4}, 1)},
                                          {"large", filled(DType::kFloat32, {512, 257}, subject.seed)}});
  compare("unusual names", {{"a/very/deep/scope/\xc3\xa9", filled(DType::kFloat32, {1}, 1)},
                            {"quote\"backslash\\", filled(DType::kFloat32, {1}, 2)},
                            {std::string(300, 'n'), filled(DType::kFloat32, {1}, 3)}});
}

// It must refuse a type that it cannot keep, and not change it.
void all_types(const Subject& subject) {
  for (const DType dtype : {DType::kBool, DType::kUInt8, DType::kInt32, DType::kInt64, DType::kFloat16,
                            DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    SaverDriver saver(subject.module, subject.options(), setup_of(subject));
    const std::string what = std::string("tensors of type ") + dtype_name(dtype);
    may_refuse(what, [&] {
      const std::string difference = saver.difference_after_round_trip(
          {{"t", filled(dtype, {2, 3}, subject.seed)}, {"scalar", filled(dtype, {}, 1)}});
      if (!difference.empty()) throw CheckFailed(what + ", written and read: " + difference);
    });
  }
}

// It is also called while nothing is written.
void interrupts(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  bool has = false;
  must_succeed("interrupt", [&] { has = saver.interrupt(); });
  if (!has) return;
  std::string difference;
  must_succeed("writing and reading after interrupt",
               [&] { difference = saver.difference_after_round_trip(usual_tensors(subject.seed)); });
  if (!difference.empty()) throw CheckFailed("after interrupt, written and read: " + difference);
}

void only_what_is_wanted(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  saver.write(usual_tensors(subject.seed));
  NamedTensors found;
  must_succeed("reading one tensor", [&] { found = saver.read(std::set<std::string>{"dense/bias"}); });
  if (found.size() != 1) throw CheckFailed(fmt::format("asked for one tensor it gave {}", found.size()));
  if (saver.announced().size() != 3)
    throw CheckFailed(fmt::format("it announced {} tensors instead of all 3", saver.announced().size()));
}

void missing_file(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  must_refuse("reading an empty directory", [&] { saver.read(); });
}

void cut_file(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  saver.write(usual_tensors(subject.seed));
  std::vector<std::string> names;
  for (const auto& file : saver.files().contents) names.push_back(file.first);
  for (const std::string& name : names) {
    const std::string undetected = saver.undetected_truncation(name);
    if (!undetected.empty()) throw CheckFailed("file '" + name + "' " + undetected + " (must be DATA_LOSS)");
  }
}

void damaged_file(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  saver.write(usual_tensors(subject.seed));
  const auto whole = saver.files().contents;
  std::mt19937_64 random(subject.seed);
  for (int i = 0; i < 500; ++i) {
    saver.files().contents = whole;
    for (auto& [name, bytes] : saver.files().contents)
      for (int flip = 0; flip < 1 + i % 4 && !bytes.empty(); ++flip)
        bytes[random() % bytes.size()] = static_cast<char>(random());
    may_refuse("reading a damaged file", [&] { saver.read(); });  // the host's checksums find that damage
  }
  for (auto& [name, bytes] : saver.files().contents) bytes = "something else altogether";
  must_refuse("reading a foreign file", [&] { saver.read(); });
}

void full_disk(const Subject& subject) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  saver.write(usual_tensors(subject.seed));
  std::uint64_t size = 0;
  for (const auto& file : saver.files().contents) size += file.second.size();
  for (std::uint64_t room = 0; room < size; ++room) {
    saver.files().fill_up_after(room);
    must_refuse(fmt::format("writing to a disk that is full after {} bytes", room),
                [&] { saver.write(usual_tensors(subject.seed)); });
  }
}

}  // namespace saver_cases

std::vector<Check> saver_checks() {
  using namespace saver_cases;
  return {{"drive.round_trip", round_trip},      {"drive.all_types", all_types},
          {"drive.wanted", only_what_is_wanted}, {"drive.interrupt", interrupts},
          {"faults.missing_file", missing_file}, {"faults.cut_file", cut_file},
          {"faults.damaged_file", damaged_file}, {"faults.full_disk", full_disk}};
}

}  // namespace belay::runtime
