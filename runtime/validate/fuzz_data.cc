// SPDX-License-Identifier: Apache-2.0
// Fuzzes savers, inputs and operations: damaged files, odd positions, tensors of any type, shape and content.
#include <fmt/core.h>

#include <limits>
#include <utility>

#include "belay/testing/op_driver.h"
#include "belay/testing/testing.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/fuzz.h"

namespace belay::runtime {
namespace {

using belay::testing::InputDriver;
using belay::testing::LearnedSchema;
using belay::testing::NamedTensors;
using belay::testing::OpDriver;
using belay::testing::SaverDriver;

const std::vector<DType> kEveryDType{DType::kFloat32, DType::kFloat64, DType::kInt64,    DType::kInt32,
                                     DType::kUInt8,   DType::kBool,    DType::kBFloat16, DType::kFloat16};

std::string spec_of(const Tensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + " " + dims_text(tensor.dims());
}

NamedTensors any_tensors(FuzzCase& fuzz) {
  NamedTensors tensors;
  for (std::uint64_t n = fuzz.below(5); n > 0; --n) {
    std::string name = fuzz.one_in(3) ? fuzz.text() : "dense/kernel";
    name += fmt::format("_{}", n);  // no two have one name
    tensors.emplace_back(std::move(name), fuzz.tensor(fuzz.of(kEveryDType), fuzz.dims()));
    fuzz.note("tensor '" + escaped(tensors.back().first.substr(0, 40)) + "' " + spec_of(tensors.back().second));
  }
  return tensors;
}

std::int64_t odd_position(FuzzCase& fuzz) {
  static const std::vector<std::int64_t> kPositions{
      0, 1, 3, 19, 20, 1000, -1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  return fuzz.one_in(2) ? fuzz.of(kPositions) : static_cast<std::int64_t>(fuzz.below(100));
}

void some_batches(InputDriver& input, FuzzCase& fuzz) {
  const std::uint64_t n = 1 + fuzz.below(4);
  fuzz.note(fmt::format("{} batches", n));
  input.batches(n);
}

using Names = std::vector<std::string>;

Names odd_names(Names names, FuzzCase& fuzz) {
  if (fuzz.one_in(3)) names.push_back(fuzz.text());
  if (!names.empty() && fuzz.one_in(2)) names[static_cast<std::size_t>(fuzz.below(names.size()))] = fuzz.text();
  if (fuzz.one_in(4)) names.clear();
  return names;
}

// Makes a schema that a training of another plugin, or of other data, could have learned.
LearnedSchema odd_schema(LearnedSchema schema, FuzzCase& fuzz) {
  for (auto& tensor : schema.tensors) {
    tensor.columns = odd_names(std::move(tensor.columns), fuzz);
    tensor.class_names = odd_names(std::move(tensor.class_names), fuzz);
  }
  for (auto& [name, words] : schema.words) words = odd_names(std::move(words), fuzz);
  for (auto& [name, values] : schema.values) {
    for (double& value : values)
      if (fuzz.one_in(2)) value = fuzz.number();
    if (fuzz.one_in(3)) values.resize(static_cast<std::size_t>(fuzz.below(values.size() + 3)));
  }
  return schema;
}

}  // namespace

void fuzz_saver(const Subject& subject, FuzzCase& fuzz) {
  SaverDriver saver(subject.module, subject.options(), setup_of(subject));
  const NamedTensors tensors = any_tensors(fuzz);
  fuzz.note("write");
  if (fuzz.one_in(6)) saver.files().fill_up_after(fuzz.below(2000));
  saver.write(tensors);
  for (int i = 0; i < 8; ++i) {
    const auto whole = saver.files().contents;
    for (auto& [name, bytes] : saver.files().contents) {
      if (!fuzz.one_in(2)) continue;
      bytes = fuzz.damaged(bytes);
      fuzz.note(fmt::format("file '{}' is damaged, of {} bytes", name, bytes.size()));
    }
    if (fuzz.one_in(10) && !saver.files().contents.empty()) {
      fuzz.note("a file is gone");
      saver.files().contents.erase(saver.files().contents.begin());
    }
    fuzz.note("read");
    may_refuse("reading what is damaged", [&] { saver.read(); });
    saver.files().contents = whole;
  }
}

void fuzz_input(const Subject& subject, FuzzCase& fuzz) {
  static const std::vector<std::int64_t> kShards{1, 1, 1, 2, 3, 64, 1'000'003};
  InputDriver input(subject.module, subject.options(), setup_of(subject));
  const std::int64_t shards = fuzz.of(kShards);
  const auto shard = static_cast<std::int64_t>(fuzz.below(static_cast<std::uint64_t>(shards)));
  fuzz.note(fmt::format("open shard {} of {}", shard, shards));
  input.open(shard, shards, subject.seed);
  if (fuzz.one_in(3)) input.size();
  some_batches(input, fuzz);
  for (std::uint64_t n = fuzz.below(6); n > 0; --n) {
    const Position at{odd_position(fuzz), odd_position(fuzz)};
    fuzz.note(fmt::format("seek to {{{}, {}}}", at.epoch, at.index));
    may_refuse("seek", [&] {
      input.seek(at);
      some_batches(input, fuzz);
    });
  }
  InputDriver other(subject.module, subject.options(), setup_of(subject));
  const std::vector<InputUse> uses{InputUse::kTraining, InputUse::kEvaluation, InputUse::kPrediction};
  other.learn(odd_schema(input.schema(), fuzz), fuzz.of(uses));
  fuzz.note("spec with what another training learned");
  may_refuse("spec", [&] {
    other.open(0, 1, subject.seed);
    some_batches(other, fuzz);
  });
}

void fuzz_op(const Subject& subject, FuzzCase& fuzz) {
  constexpr int kTries = 20;  // few of all inputs are accepted
  OpDriver op(subject.module, subject.options(), setup_of(subject));
  for (int i = 0; i < kTries; ++i) {
    const int n = op.traits().n_inputs < 0 ? static_cast<int>(fuzz.below(5)) : op.traits().n_inputs;
    const DType dtype = fuzz.of(kEveryDType);
    const Dims dims = fuzz.dims();
    std::vector<Tensor> inputs;
    std::string text = "run on";
    for (int k = 0; k < n; ++k) {
      inputs.push_back(fuzz.tensor(fuzz.one_in(4) ? fuzz.of(kEveryDType) : dtype, fuzz.one_in(4) ? fuzz.dims() : dims));
      text += " " + spec_of(inputs.back());
    }
    op.threads = 1 + static_cast<int>(fuzz.below(2));
    fuzz.note(text);
    may_refuse("run", [&] { op.run(inputs); });
  }
}

}  // namespace belay::runtime
