// SPDX-License-Identifier: Apache-2.0
// A model on the real engine, with made-up features and labels: four columns, and a class or a number.
#include <memory>

#include "belay/testing/model_driver.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace {

using belay::testing::ModelBatch;
using belay::testing::ModelDriver;

struct Built {
  std::unique_ptr<ModelDriver> model;
  ModelBatch batch;
};

Built try_build(const Subject& subject, Mode mode, DType label) {
  Built built{std::make_unique<ModelDriver>(subject.module, subject.options, subject.info.name), {}};
  built.model->feature("x", DType::kFloat32, {-1, 4});
  built.batch["x"] = Tensor({3, 4}, {1.f, 2.f, -1.f, 0.5f, 3.f, -2.f, 0.f, 1.f, -1.f, 1.f, 2.f, 0.25f});
  built.model->label("y", label, {-1});
  if (label == DType::kInt64)
    built.batch["y"] = Tensor({3}, std::vector<std::int64_t>{0, 1, 0});
  else
    built.batch["y"] = Tensor({3}, {0.5f, -1.f, 2.f});
  built.model->build(mode, subject.seed);
  return built;
}

// With a class as label, or else with a number.
Built build(const Subject& subject, Mode mode) {
  Built built;
  needs("build", "the made-up input (feature x float32 [?, 4], label y int64 or float32 [?])", [&] {
    try {
      built = try_build(subject, mode, DType::kInt64);
    } catch (const Error& e) {
      require_explained("build with an int64 label", e);
      built = try_build(subject, mode, DType::kFloat32);
    }
  });
  return built;
}

void builds(const Subject& subject) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval}) build(subject, mode);
  if (build(subject, Mode::kEval).model->predictions().empty())
    throw CheckFailed("it has no prediction, so that what it learns cannot be used");
}

void predicts(const Subject& subject) {
  const Built training = build(subject, Mode::kTrain);
  Built built;
  must_succeed("build for prediction, where the label is declared and not there,",
               [&] { built = try_build(subject, Mode::kPredict, training.batch.at("y").dtype()); });
  const std::string foreign = foreign_variables(*training.model, *built.model);
  if (!foreign.empty())
    throw CheckFailed("predicting it has variables that training has not: " + foreign +
                      "; no checkpoint holds their values");
  for (const std::string& name : built.model->predictions())
    must_succeed("prediction '" + name + "'", [&] { built.model->values(name, built.batch); });
}

void same_again(const Subject& subject) {
  const Built first = build(subject, Mode::kTrain), second = build(subject, Mode::kTrain);
  must_succeed("the loss", [&] {
    if (first.model->loss(first.batch) != second.model->loss(second.batch))
      throw CheckFailed("built twice from one seed, it has two different losses");
  });
}

void gradients(const Subject& subject) {
  const Built built = build(subject, Mode::kTrain);
  must_succeed("the gradients", [&] {
    const double error = built.model->worst_gradient_error(built.batch);
    if (!(error < 5e-2))
      throw CheckFailed("its gradients differ from finite differences by " + detail::number_text(error) +
                        ", relative to the larger of 1 and the gradient");
  });
}

void learns(const Subject& subject) {
  const Built built = build(subject, Mode::kTrain);
  must_succeed("a training step", [&] {
    const double before = built.model->loss(built.batch);
    for (int i = 0; i < 5; ++i) built.model->train_step(built.batch, 0.01);
    const double after = built.model->loss(built.batch);
    if (!(after < before))
      throw CheckFailed("five steps of gradient descent did not lower its loss: " + detail::number_text(before) +
                        " before, " + detail::number_text(after) + " after");
  });
}

// An epoch's last batch may be short.
void one_example(const Subject& subject) {
  Built built = build(subject, Mode::kTrain);
  built.batch["x"] = Tensor({1, 4}, {1.f, 2.f, -1.f, 0.5f});
  if (TensorView(built.batch["y"].view()).dtype() == DType::kInt64)
    built.batch["y"] = Tensor({1}, std::vector<std::int64_t>{1});
  else
    built.batch["y"] = Tensor({1}, {0.5f});
  must_succeed("a batch of one example", [&] { built.model->train_step(built.batch, 0.01); });
}

// A later host may have modes that this plugin does not know.
void unknown_mode(const Subject& subject) {
  constexpr auto kNoMode = static_cast<Mode>(99);
  Code code = Code::kOk;
  try {
    try_build(subject, kNoMode, DType::kInt64);
  } catch (const Error& e) {
    code = e.code();
  }
  if (code != Code::kUnimplemented)
    throw CheckFailed(std::string("asked to build a mode that no host has (99), it ") +
                      (code == Code::kOk ? "built a graph" : std::string("failed with ") + code_name(code)) +
                      "; it must answer UNIMPLEMENTED");
}

}  // namespace

std::vector<Check> model_checks() {
  return {{"drive.builds", builds},
          {"drive.predicts", predicts},
          {"drive.same_again", same_again},
          {"drive.gradients", gradients},
          {"drive.learns", learns},
          {"drive.one_example", one_example},
          {"drive.unknown_mode", unknown_mode}};
}

}  // namespace belay::runtime
