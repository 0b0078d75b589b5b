// SPDX-License-Identifier: Apache-2.0
// Checks a model on the real engine, with synthetic features and labels: rows with a class or a number, an image with a
// class, or ids with the ids that follow.
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "belay/testing/model_driver.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace model_cases {

using belay::testing::ModelBatch;
using belay::testing::ModelDriver;

struct SyntheticInput {
  DType feature, label;
  Dims example, label_of_example;
  std::int64_t ids;  // values are below this; 0: any
};

const std::vector<SyntheticInput>& synthetic_inputs() {
  static const std::vector<SyntheticInput> all{{DType::kFloat32, DType::kInt64, {4}, {}, 0},
                                               {DType::kFloat32, DType::kFloat32, {4}, {}, 0},
                                               {DType::kFloat32, DType::kInt64, {8, 8}, {}, 0},
                                               {DType::kInt64, DType::kInt64, {4}, {4}, 3}};
  return all;
}
constexpr const char* kSyntheticInputs =
    "the synthetic inputs (x float32 [?, 4] with y int64 or float32 [?]; x float32 [?, 8, 8] with y int64 [?]; ids x "
    "and y int64 [?, 4])";

Dims batch_dims(std::int64_t n, const Dims& example) {
  Dims dims{n};
  dims.insert(dims.end(), example.begin(), example.end());
  return dims;
}

// Repeats the same numbers, or ids and classes.
Tensor synthetic_tensor(DType dtype, const Dims& dims, std::int64_t ids) {
  constexpr float kNumbers[] = {1, 2, -1, 0.5, 3, -2, 0, 1, -1, 1, 2, 0.25};
  const std::size_t below = ids > 0 ? static_cast<std::size_t>(ids) : 2;
  Tensor t(dtype, dims);
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (dtype == DType::kFloat32)
      t.data<float>()[i] = kNumbers[i % std::size(kNumbers)];
    else
      t.data<std::int64_t>()[i] = static_cast<std::int64_t>(i % below);
  }
  return t;
}

struct Built {
  std::unique_ptr<ModelDriver> model;
  SyntheticInput input;

  ModelBatch batch(std::int64_t n) const {
    return {{"x", synthetic_tensor(input.feature, batch_dims(n, input.example), input.ids)},
            {"y", synthetic_tensor(input.label, batch_dims(n, input.label_of_example), input.ids)}};
  }
};

Built try_build(const Subject& subject, Mode mode, const SyntheticInput& input) {
  Built built{std::make_unique<ModelDriver>(subject.module, subject.options(), subject.info.name), input};
  built.model->feature("x", input.feature, batch_dims(-1, input.example), input.ids);
  built.model->label("y", input.label, batch_dims(-1, input.label_of_example), input.ids);
  built.model->build(mode, subject.seed);
  return built;
}

// Builds with the first input that the model takes. If it takes none, its error for the first one is the reason.
Built build(const Subject& subject, Mode mode) {
  std::optional<Built> built;
  std::optional<Error> refusal;
  needs("build", kSyntheticInputs, [&] {
    for (const SyntheticInput& input : synthetic_inputs()) {
      try {
        built = try_build(subject, mode, input);
        return;
      } catch (const Error& e) {
        require_explained("build with a synthetic input", e);
        if (!refusal) refusal = e;
      }
    }
    throw Error(*refusal);
  });
  return std::move(*built);
}

void builds(const Subject& subject) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval}) build(subject, mode);
  if (build(subject, Mode::kEval).model->predictions().empty())
    throw CheckFailed("it has no prediction, so that what it learns cannot be used");
}

void predicts(const Subject& subject) {
  const Built training = build(subject, Mode::kTrain);
  Built built;
  must_succeed("build for prediction, with a label that is declared and absent,",
               [&] { built = try_build(subject, Mode::kPredict, training.input); });
  const std::string foreign = foreign_variables(*training.model, *built.model);
  if (!foreign.empty())
    throw CheckFailed("predicting it has variables that training has not: " + foreign +
                      "; no checkpoint holds their values");
  for (const std::string& name : built.model->predictions())
    must_succeed("prediction '" + name + "'", [&] { built.model->values(name, built.batch(3)); });
  const Built evaluating = try_build(subject, Mode::kEval, training.input);
  const std::string faults =
      belay::testing::prediction_faults(*training.model, *evaluating.model, *built.model, built.batch(3));
  if (!faults.empty()) throw CheckFailed("a prediction is not what the evaluation of the same batch has: " + faults);
}

// The training continues with unchanged variables, also if it evaluates between two steps.
void evaluates(const Subject& subject) {
  const Built built = build(subject, Mode::kEval);
  must_succeed("an evaluation", [&] {
    for (int batch = 0; batch < 2; ++batch)
      if (const std::string changed = built.model->changed_by_evaluation(built.batch(3)); !changed.empty())
        throw CheckFailed("evaluating a batch changes variables that a checkpoint holds: " + changed +
                          "; keep what a metric counts in local variables, and change nothing else in mode kEval");
  });
}

void same_again(const Subject& subject) {
  const Built first = build(subject, Mode::kTrain), second = build(subject, Mode::kTrain);
  must_succeed("the loss", [&] {
    if (first.model->loss(first.batch(3)) != second.model->loss(second.batch(3)))
      throw CheckFailed("built twice from one seed, it has two different losses");
  });
}

// True if two runs have two losses, for example by dropout.
bool is_random(const Built& built) {
  const ModelBatch batch = built.batch(3);
  return built.model->loss(batch) != built.model->loss(batch);
}

// Differences of a random loss show nothing. Then the check uses an evaluation, which draws no numbers.
void gradients(const Subject& subject) {
  Built built = build(subject, Mode::kTrain);
  must_succeed("the gradients", [&] {
    if (is_random(built)) built = build(subject, Mode::kEval);
    const double error = built.model->worst_gradient_error(built.batch(3));
    if (!(error < 5e-2))
      throw CheckFailed("its gradients differ from finite differences by " + detail::number_text(error) +
                        ", relative to the larger of 1 and the gradient");
  });
}

// Returns the mean of several runs, since the loss may be random.
double mean_loss(const Built& built) {
  constexpr int kRuns = 16;
  double sum = 0;
  for (int i = 0; i < kRuns; ++i) sum += built.model->loss(built.batch(3));
  return sum / kRuns;
}

void learns(const Subject& subject) {
  const Built built = build(subject, Mode::kTrain);
  must_succeed("a training step", [&] {
    const double before = mean_loss(built);
    for (int i = 0; i < 5; ++i) built.model->train_step(built.batch(3), 0.01);
    const double after = mean_loss(built);
    if (!(after < before))
      throw CheckFailed("five steps of gradient descent did not lower its loss: " + detail::number_text(before) +
                        " before, " + detail::number_text(after) + " after");
  });
}

// An epoch's last batch may be short.
void one_example(const Subject& subject) {
  const Built built = build(subject, Mode::kTrain);
  must_succeed("a batch of one example", [&] { built.model->train_step(built.batch(1), 0.01); });
}

// A later host may have modes that this plugin does not know.
void unknown_mode(const Subject& subject) {
  constexpr auto kNoMode = static_cast<Mode>(99);
  Code code = Code::kOk;
  try {
    try_build(subject, kNoMode, synthetic_inputs().front());
  } catch (const Error& e) {
    code = e.code();
  }
  if (code != Code::kUnimplemented)
    throw CheckFailed(std::string("asked to build a mode that no host has (99), it ") +
                      (code == Code::kOk ? "built a graph" : std::string("failed with ") + code_name(code)) +
                      "; it must answer UNIMPLEMENTED");
}

}  // namespace model_cases

std::vector<Check> model_checks() {
  using namespace model_cases;
  return {{"drive.builds", builds},           {"drive.predicts", predicts},        {"drive.evaluates", evaluates},
          {"drive.same_again", same_again},   {"drive.gradients", gradients},      {"drive.learns", learns},
          {"drive.one_example", one_example}, {"drive.unknown_mode", unknown_mode}};
}

}  // namespace belay::runtime
