// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/synthetic_training.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

namespace belay::runtime {
namespace {

using belay::testing::DriverSetup;
using belay::testing::HookDriver;

// Returns a value for an output that the plugin added: a half in each element.
Tensor some_value(const Output& output) {
  Dims dims = output.dims();
  for (std::int64_t& d : dims)
    if (d < 0) d = 1;
  Tensor value(output.dtype(), dims);
  if (output.dtype() == DType::kFloat32) std::fill_n(value.data<float>(), value.size(), 0.5f);
  if (output.dtype() == DType::kFloat64) std::fill_n(value.data<double>(), value.size(), 0.5);
  return value;
}

Tensor all_of(const Dims& dims, float value) {
  Tensor t(DType::kFloat32, dims);
  std::fill_n(t.data<float>(), t.size(), value);
  return t;
}

}  // namespace

SyntheticTraining::SyntheticTraining(const Subject& subject, const std::vector<std::string>& without, Folder folder,
                                     TrainingShape shape)
    : shape_(std::move(shape)), folder_(std::move(folder)), random_(subject.seed) {
  DriverSetup setup = setup_of(subject);
  setup.run_directory = folder_->path();
  setup.without = without;
  hook_ = std::make_unique<HookDriver>(subject.module, subject.options(), setup);
  hook_->host().clock.jump_over_waits();  // nothing else moves the clock
  for (const auto& [name, dims] : {std::pair("loss", shape_.loss), std::pair("accuracy", Dims{})}) {
    hook_->tensor<float>(name, dims);
    hook_->session().set_value(name, all_of(dims, 1));
  }
  for (const char* name : {"learning_rate", "learning_rate_scale"}) {
    hook_->tensor<float>(name);
    hook_->session().variable(name, Tensor(1.f), false);
    hook_->session().set_value(name, Tensor(1.f));
  }
  add_variable("dense/kernel", shape_.kernel);
  add_variable("dense/bias", shape_.bias);
  for (const char* reduction : {"GlobalNorm", "L2Loss", "Sum", "Mean", "Max", "Min", "Prod"})
    hook_->graph().op(reduction, DType::kFloat32, Dims{});
  hook_->graph().operation("train_op");
  hook_->graph().role("train_op", "train_op");
  hook_->graph().tensor("merged_summaries", DType::kString, Dims{});
  hook_->graph().collect("summary_op", "merged_summaries");
  hook_->global_step(0);
  add_best_checkpoint();
}

void SyntheticTraining::begin() {
  needs("begin", kSyntheticModel, [&] { hook_->begin(); });
  hook_->session().set_value("merged_summaries", Tensor(std::string_view()));
  for (const Output& output : hook_->graph().outputs())
    if (!hook_->session().has_value(output.raw()))
      hook_->session().set_value(hook_->graph().name_of(output.raw()), some_value(output));
}

void SyntheticTraining::start() {
  begin();
  must_succeed("after_create_session", [&] { hook_->create_session(); });
}

HookDriver::Values SyntheticTraining::values(float loss) {
  ++steps_;
  hook_->host().clock.advance(0.7);
  const float t = static_cast<float>(steps_);
  return {{"loss", all_of(shape_.loss, loss)},
          {"accuracy", Tensor(1 - std::exp(-0.05f * t))},
          {"dense/kernel", all_of(shape_.kernel, 1 - 0.01f * t)},
          {"dense/bias", all_of(shape_.bias, 0.01f * t)},
          {"gradients/dense/kernel", all_of(shape_.kernel, 1 / (1 + t))},
          {"gradients/dense/bias", all_of(shape_.bias, -1 / (1 + t))}};
}

void SyntheticTraining::step() {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  const float waver = static_cast<float>(random_ >> 40) * 0x1p-24f;
  const float loss = 2 / (1 + 0.1f * static_cast<float>(steps_)) + 0.1f * waver;
  must_succeed("a step", [&] { hook_->step(values(loss)); });
}

void SyntheticTraining::steps(int n) {
  for (int i = 0; i < n; ++i) step();
}

// The synthetic run keeps its best checkpoint, like one with [checkpoint] keep_best.
void SyntheticTraining::add_best_checkpoint() {
  const std::string best = folder_->path() + "/best";
  std::ofstream(best) << "{}";
  hook_->checkpoints().add(best, {{"dense/kernel", all_of(shape_.kernel, 2)},
                                  {"dense/bias", all_of(shape_.bias, 2)},
                                  {"learning_rate", Tensor(1.f)},
                                  {"learning_rate_scale", Tensor(1.f)},
                                  {"global_step", Tensor(std::int64_t{1})}});
}

// Adds a trainable variable with its gradient.
void SyntheticTraining::add_variable(const std::string& name, const Dims& dims) {
  const std::string gradient = "gradients/" + name;
  for (const std::string& tensor : {name, gradient}) {
    hook_->tensor<float>(tensor, dims);
    hook_->session().set_value(tensor, all_of(dims, 1));
  }
  hook_->session().variable(name, all_of(dims, 1));
  hook_->graph().collect(collections::kGlobalVariables, name);
  hook_->graph().collect(collections::kTrainableVariables, name);
  hook_->graph().collect(collections::kGradients, gradient);
  hook_->graph().collect(collections::kGradientVariables, name);
}

}  // namespace belay::runtime
