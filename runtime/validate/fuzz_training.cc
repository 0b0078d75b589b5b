// SPDX-License-Identifier: Apache-2.0
// Fuzzes models, optimizers and schedules on the real engine, with rare features, gradients and steps.
#include <fmt/core.h>

#include <map>
#include <utility>

#include "belay/testing/model_driver.h"
#include "belay/testing/optimizer_driver.h"
#include "belay/testing/schedule_driver.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/fuzz.h"

namespace belay::runtime {
namespace {

using belay::testing::ModelBatch;
using belay::testing::ModelDriver;
using belay::testing::OptimizerDriver;
using belay::testing::ScheduleDriver;
using belay::testing::VariableGradients;

const std::vector<DType> kFeatureTypes{DType::kFloat32, DType::kFloat32, DType::kInt64, DType::kUInt8, DType::kFloat64};

// Returns a batch of examples, each with a few numbers.
Dims with_rows(std::int64_t rows, Dims example) {
  example.insert(example.begin(), rows);
  return example;
}
Dims small_example(FuzzCase& fuzz) {
  static const std::vector<Dims> kExamples{{}, {1}, {4}, {0}, {3, 5}, {8, 8}, {8, 8, 3}, {2, 1, 1, 2}, {129}};
  return fuzz.of(kExamples);
}

// Classes are in the range that a host checks. Other values may be any.
Tensor column(DType dtype, const Dims& dims, std::int64_t classes, FuzzCase& fuzz) {
  if (classes == 0) return fuzz.tensor(dtype, dims);
  Tensor t(dtype, dims);
  for (std::size_t i = 0; i < t.size(); ++i)
    t.data<std::int64_t>()[i] = static_cast<std::int64_t>(fuzz.below(static_cast<std::uint64_t>(classes)));
  return t;
}

}  // namespace

void fuzz_model(const Subject& subject, FuzzCase& fuzz) {
  static const std::vector<std::int64_t> kRows{1, 3, 1, 0, 17};
  static const std::vector<Mode> kModes{Mode::kTrain, Mode::kTrain, Mode::kEval, Mode::kPredict};
  const DType feature = fuzz.of(kFeatureTypes);
  const bool labels_are_classes = fuzz.one_in(2);
  const DType label = labels_are_classes ? DType::kInt64 : DType::kFloat32;
  const Dims example = small_example(fuzz), label_example = fuzz.one_in(3) ? small_example(fuzz) : Dims{};
  const std::int64_t ids = feature == DType::kInt64 ? 5 : 0, classes = labels_are_classes ? 3 : 0;
  const Mode mode = fuzz.of(kModes);
  fuzz.note(fmt::format("build with x {} {} and y {} {}, mode {}", dtype_name(feature),
                        dims_text(with_rows(-1, example)), dtype_name(label), dims_text(with_rows(-1, label_example)),
                        static_cast<int>(mode)));
  ModelDriver model(subject.module, subject.options(), subject.info.name);
  model.feature("x", feature, with_rows(-1, example), ids);
  model.label("y", label, with_rows(-1, label_example), classes);
  model.build(mode, subject.seed);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t rows = fuzz.of(kRows);
    const ModelBatch batch{{"x", column(feature, with_rows(rows, example), ids, fuzz)},
                           {"y", column(label, with_rows(rows, label_example), classes, fuzz)}};
    fuzz.note(fmt::format("a batch of {}", rows));
    may_refuse("a batch", [&] {
      if (mode == Mode::kTrain) return model.train_step(batch, 0.01);
      for (const std::string& name : model.predictions()) model.values(name, batch);
    });
  }
}

void fuzz_optimizer(const Subject& subject, FuzzCase& fuzz) {
  OptimizerDriver optimizer(subject.module, subject.options(), subject.info.name);
  const DType dtype = fuzz.one_in(3) ? DType::kFloat64 : DType::kFloat32;
  std::map<std::string, Dims> variables;
  for (const char* name : {"a/kernel", "a/bias", "b"}) {
    const Dims dims = fuzz.dims();
    variables[name] = dims;
    fuzz.note("variable " + std::string(dtype_name(dtype)) + " " + dims_text(dims));
    optimizer.variable(name, fuzz.tensor(dtype, dims));
    if (fuzz.one_in(2)) break;
  }
  fuzz.note("build");
  optimizer.build(1 + static_cast<int>(fuzz.below(2)));
  for (std::uint64_t n = 1 + fuzz.below(4); n > 0; --n) {
    VariableGradients gradients;
    for (const auto& [name, dims] : variables) gradients[name] = fuzz.tensor(dtype, dims);
    const double rate = fuzz.one_in(2) ? 0.01 : fuzz.number();
    fuzz.note("a step with rate " + detail::number_text(rate));
    optimizer.step(gradients, rate);
  }
}

void fuzz_schedule(const Subject& subject, FuzzCase& fuzz) {
  fuzz.note("build");
  ScheduleDriver schedule(subject.module, subject.options(), subject.info.name);
  if (fuzz.one_in(2)) {
    const double rate = fuzz.number();
    fuzz.note("learning rate " + detail::number_text(rate));
    schedule.learning_rate(rate);
  }
  for (int i = 0; i < 5; ++i) {
    const std::int64_t drawn = fuzz.integer(), step = drawn < 0 ? -(drawn + 1) : drawn;
    fuzz.note(fmt::format("the rate of step {}", step));
    may_refuse("the rate", [&] { schedule.rate(step); });
  }
}

}  // namespace belay::runtime
