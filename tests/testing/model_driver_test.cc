// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/model_driver.h"

#include <gtest/gtest.h>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/variables.h"
#include "belay/plugin.h"
#include "belay/testing/error_of.h"

namespace {

namespace ops = belay::ops;
using belay::Mode;
using belay::Output;
using belay::Tensor;

// Multiplies its input; a prediction differs by the option.
class Multiplied final : public belay::Model {
 public:
  struct Options {
    belay::Str fault = "none";
  };
  static constexpr auto about = belay::about("multiplied", "Multiplies its input",
                                             belay::option("fault", &Options::fault, "what is wrong in a prediction"));
  explicit Multiplied(const Options& o) : fault_(o.fault.view()) {}

  void build(belay::ModelContext& model) override {
    const bool predicts = model.mode() == Mode::kPredict;
    const Output x = model.feature();
    Output y = x * ops::variable(model.graph(), "factor", Tensor(3.0f));
    if (predicts && fault_ == "variable") y = y * ops::variable(model.graph(), "more", Tensor(1.0f));
    if (predicts && fault_ == "value") y = y * 2.0;
    model.prediction("y", y);
    if (!predicts) model.loss(ops::reduce_mean(y));
    if (!predicts || fault_ == "metric") model.metric("largest", ops::reduce_max(y));
  }

 private:
  const std::string fault_;
};

}  // namespace

BELAY_MODULE("1.0.0", Multiplied)
extern "C" {
extern const belay_module belay_module_whole_model;
}

namespace belay::testing {
namespace {

std::string faults(const std::string& of) {
  const auto built = [&](Mode mode) {
    auto model = std::make_unique<ModelDriver>(belay_module_v0, OptionValues{{"fault", of}});
    model->feature("x", DType::kFloat32, {-1});
    model->build(mode);
    return model;
  };
  return prediction_faults(*built(Mode::kTrain), *built(Mode::kEval), *built(Mode::kPredict),
                           {{"x", Tensor({2}, {1.0f, 2.0f})}});
}

TEST(ModelDriver, SaysWhatIsWrongWithAPrediction) {
  EXPECT_EQ(faults("none"), "");
  EXPECT_EQ(faults("value"), "other values of 'y'; ");
  EXPECT_EQ(faults("metric"), "the metric 'largest' in a prediction; ");
  EXPECT_EQ(faults("variable"), "not in the training: more float32 []; ");
}

TEST(ModelDriver, B_12m_SaysWhatAModelBringsAndBeginsAsANewRun) {
  ModelDriver model(belay_module_whole_model, {{"summary", true}});
  model.feature("x", DType::kFloat32, {-1, 4});
  model.label("y", DType::kFloat32, {-1});
  model.build(Mode::kTrain);
  EXPECT_EQ(model.hooks(), (std::vector<std::string>{"whole_training", "whole_chief"}));
  ASSERT_EQ(model.signatures().size(), 2u);
  EXPECT_EQ(model.signatures()[0].name, "serving_default");
  EXPECT_EQ(model.signatures()[0].method, "predict");
  EXPECT_EQ(model.signatures()[0].outputs.at(0).output.text(), model.signatures()[1].outputs.at(0).output.text());
  EXPECT_EQ(model.pieces(),
            (std::vector<std::string>{"local_init_op", "ready_op", "ready_for_local_init_op", "summary_op"}));
  EXPECT_EQ(TensorView(model.variable("slope")).scalar<float>(), 2.5f);
  EXPECT_EQ(TensorView(model.variable("offset")).scalar<float>(), 0.5f);
  EXPECT_EQ(model.value("table", {}), 7.0);
}

TEST(ModelDriver, B_12k_AModeThatTheModelDoesNotKnowIsUnimplemented) {
  ModelDriver model(belay_module_whole_model);
  model.feature("x", DType::kFloat32, {-1, 4});
  EXPECT_EQ(error_of([&] { model.build(static_cast<Mode>(99)); }),
            "UNIMPLEMENTED: the model knows the modes 1 (training), 2 (evaluation) and 3 (prediction), not 99");
}

}  // namespace
}  // namespace belay::testing
