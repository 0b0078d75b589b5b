// SPDX-License-Identifier: Apache-2.0
// Checks that an input delivers the same batches again, from any position, to the same end.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "belay/testing/testing.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace input_cases {

using belay::testing::DeclaredTensor;
using belay::testing::DriverSetup;
using belay::testing::InputBatch;
using belay::testing::InputDriver;
using belay::testing::LearnedSchema;
using belay::testing::OptionValue;
using belay::testing::OptionValues;

constexpr std::size_t kBatches = 20;

// Selects one pass, if the input has an option for it.
OptionValues one_epoch(const Subject& subject) {
  const OptionInfo* epochs = subject.info.option("epochs");
  return epochs != nullptr && epochs->type == OptionType::kInt && !epochs->list
             ? subject.options().with(OptionValue("epochs", 1))
             : subject.options();
}

// A synthetic file for a path does not have the input's format.
void open(InputDriver& input, const Subject& subject, std::int64_t shard = 0, std::int64_t shards = 1) {
  std::vector<std::string> names;
  for (const std::string& name : subject.chosen.synthetic) names.push_back("'" + name + "'");
  needs("open", names.empty() ? "the synthetic options" : "what validate made for " + joined(names), [&] {
    try {
      input.open(shard, shards, subject.seed);
    } catch (const Error& e) {
      if (subject.chosen.synthetic.empty() || e.code() != Code::kDataLoss) throw;
      fail(Code::kInvalidArgument, std::string(e.message()));
    }
  });
}

void require_law(const std::string& difference) {
  if (!difference.empty()) throw CheckFailed(difference);
}

void batches(const Subject& subject) {
  InputDriver input(subject.module, subject.options(), setup_of(subject));
  open(input, subject);
  std::size_t n = 0;
  must_succeed("next", [&] { n = input.batches(kBatches).size(); });
  if (n == 0) throw CheckFailed("it delivers no batch");
}

void same_again(const Subject& subject) {
  InputDriver input(subject.module, subject.options(), setup_of(subject));
  open(input, subject);
  must_succeed("a second pass", [&] { require_law(input.difference_after_restart(kBatches)); });
}

void resumes(const Subject& subject) {
  InputDriver input(subject.module, subject.options(), setup_of(subject));
  open(input, subject);
  must_succeed("seek", [&] { require_law(input.difference_after_resume(kBatches)); });
}

void ends(const Subject& subject) {
  constexpr std::size_t kMost = 20'000;
  InputDriver input(subject.module, one_epoch(subject), setup_of(subject));
  open(input, subject);
  bool endless = false;
  must_succeed("next", [&] { endless = input.batches(kMost).size() == kMost; });
  if (endless) throw CheckSkipped(fmt::format("it does not end within {} batches", kMost));
  must_succeed("the end", [&] { require_law(input.difference_after_end(kMost)); });
}

// It is also called while nothing waits.
void interrupts(const Subject& subject) {
  InputDriver input(subject.module, subject.options(), setup_of(subject));
  open(input, subject);
  must_succeed("next", [&] { input.batches(2); });
  bool has = false;
  must_succeed("interrupt", [&] { has = input.interrupt(); });
  if (!has) return;
  must_succeed("a seek and next after interrupt", [&] {
    input.seek({});
    if (input.batches(2).empty()) throw CheckFailed("after interrupt and a seek to the start it delivers no batch");
  });
}

void shards(const Subject& subject) {
  for (std::int64_t shard = 0; shard < 2; ++shard) {
    InputDriver input(subject.module, subject.options(), setup_of(subject));
    open(input, subject, shard, 2);
    must_succeed("next", [&] { input.batches(kBatches); });
    must_succeed("seek", [&] { require_law(input.difference_after_resume(5)); });
  }
}

void strange_positions(const Subject& subject) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const Position& p : {Position{-1, 0}, Position{0, -1}, Position{0, kHuge}, Position{kHuge, 0}}) {
    InputDriver input(subject.module, subject.options(), setup_of(subject));
    open(input, subject);
    may_refuse(fmt::format("seek to {{{}, {}}}", p.epoch, p.index), [&] {
      input.seek(p);
      input.next();
    });
  }
}

// A host matches parts without names by number and place.
void names(const Subject& subject) {
  InputDriver input(subject.module, subject.options(), setup_of(subject));
  open(input, subject);
  std::vector<std::string> without;
  for (const DeclaredTensor& tensor : input.spec()) {
    const bool columns = tensor.dims.size() == 2 && tensor.dims[1] > 1 &&
                         (tensor.dtype == DType::kFloat32 || tensor.dtype == DType::kFloat64);
    if (columns && tensor.columns.empty()) without.push_back("columns of '" + tensor.name + "' (set_columns)");
    if (tensor.classes > 0 && tensor.class_names.empty())
      without.push_back("classes of '" + tensor.name + "' (set_class_names)");
  }
  if (!without.empty())
    throw CheckRemark("a remark: it does not name " + joined(without) +
                      "; an evaluation or prediction with another order of them is then not noticed");
}

std::string name_of(InputUse use) {
  switch (use) {
    case InputUse::kTraining: return "a training that continues";
    case InputUse::kEvaluation: return "an evaluation";
    case InputUse::kPrediction: return "a prediction";
  }
  return "nothing";
}

// Compares by name, and then the order of the names.
std::string difference_of(InputDriver& input, const LearnedSchema& learned) {
  std::string difference = input.difference_from_learned();
  for (const DeclaredTensor& tensor : input.spec()) {
    const DeclaredTensor* before = learned.find(tensor.name);
    if (!difference.empty() || before == nullptr) continue;
    if (before->columns != tensor.columns) difference = "'" + tensor.name + "' has other columns";
    if (before->class_names != tensor.class_names) difference = "'" + tensor.name + "' has other class names";
  }
  return difference;
}

// If an input gets its declaration and kept values back, it declares and keeps the same.
void learned(const Subject& subject) {
  InputDriver train(subject.module, subject.options(), setup_of(subject));
  open(train, subject);
  const LearnedSchema learned = train.schema();
  const std::vector<InputBatch> before = train.batches(kBatches);
  for (const InputUse use : {InputUse::kTraining, InputUse::kEvaluation, InputUse::kPrediction}) {
    const std::string where = "for " + name_of(use) + ", with what it declared and kept itself";
    InputDriver input(subject.module, subject.options(), setup_of(subject));
    input.learn(learned, use);
    must_succeed("spec " + where, [&] { input.spec(); });
    const std::string difference = difference_of(input, learned);
    if (!difference.empty()) throw CheckFailed("spec " + where + ": " + difference);
    std::vector<InputBatch> batches;
    must_succeed("next " + where, [&] {
      input.open(0, 1, subject.seed);
      batches = input.batches(kBatches);
    });
    if (use != InputUse::kTraining) continue;
    for (std::size_t i = 0; i < std::min(before.size(), batches.size()); ++i)
      if (const std::string found = before[i].difference(batches[i]); !found.empty())
        throw CheckFailed(fmt::format("next {}: batch {} differs: {}", where, i, found));
  }
}

void missing_services(const Subject& subject) {
  for (const char* service : {"core", "input"}) {
    DriverSetup setup = setup_of(subject);
    setup.without = {service};
    may_refuse(std::string("a host without service '") + service + "'", [&] {
      InputDriver input(subject.module, subject.options(), setup);
      input.open(0, 1, subject.seed);
      input.next();
    });
  }
}

}  // namespace input_cases

std::vector<Check> input_checks() {
  using namespace input_cases;
  return {{"drive.batches", batches},
          {"drive.same_again", same_again},
          {"drive.ends", ends},
          {"drive.shards", shards},
          {"drive.names", names},
          {"drive.interrupt", interrupts},
          {"state.resumes", resumes},
          {"state.learned", learned},
          {"faults.strange_positions", strange_positions},
          {"faults.missing_services", missing_services}};
}

}  // namespace belay::runtime
