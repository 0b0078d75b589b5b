// SPDX-License-Identifier: Apache-2.0
// A model plugin in a program: its description of its graph becomes the EstimatorSpec.
#include "tests/estimator/estimator_fixture.h"

extern "C" {
extern const belay_module belay_module_whole_model;
}

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelPlugin : public EstimatorTest {
 protected:
  EstimatorSetup with_whole() {
    EstimatorSetup o = options();
    o.plugins.push_back(&belay_module_whole_model);
    return o;
  }
  // The model's function, with a look at what it returns.
  ModelFn whole() {
    return [this, model = model_plugin("whole")](const ModelArgs& m) {
      EstimatorSpec spec = model(m);
      seen = spec.pieces();
      return spec;
    };
  }
  static InputFn lines() {
    return tensor_input({{"x", Tensor({8, 4}, std::vector<float>(32, 0.5f))}},
                        {{"y", Tensor({8}, std::vector<float>(8, 1.0f))}}, {.batch_size = 4});
  }

  EstimatorPieces seen;
};

TEST_F(ModelPlugin, B_12l_ItsHooksSignaturesAndInitialValuesAreThoseOfTheEstimatorSpec) {
  Estimator estimator(whole(), with_whole());
  estimator.train(lines());
  ASSERT_EQ(seen.export_outputs.size(), 2u);
  EXPECT_EQ(seen.export_outputs[0].name, "serving_default");
  EXPECT_EQ(seen.training_hooks.size(), 1u);
  EXPECT_EQ(seen.training_chief_hooks.size(), 1u);
  EXPECT_THAT(seen.evaluation_hooks, IsEmpty());
  EXPECT_THAT(log.of("whole_training"), ElementsAre("training: slope 2.500000, table 7.000000", "training: 2 runs"));
  EXPECT_THAT(log.of("whole_chief"), Contains("chief: 2 runs"));
  EXPECT_THAT(log.of("whole"), Contains("asked for slope"));

  const std::size_t asked = log.of("whole").size();
  estimator.train(lines());
  EXPECT_EQ(log.of("whole").size(), asked) << "a run that is resumed does not ask";

  const EvalMetrics metrics = estimator.evaluate(lines());
  EXPECT_TRUE(metrics.contains("mean_y"));
  EXPECT_EQ(seen.evaluation_hooks.size(), 1u);
  EXPECT_THAT(log.of("whole_evaluation"), Contains("evaluation: 2 runs"));

  EstimatorPredictions predictions = estimator.predict(lines());
  while (predictions.next() != nullptr) {
  }
  EXPECT_EQ(seen.prediction_hooks.size(), 1u);
  EXPECT_THAT(log.of("whole_prediction"), Contains("prediction: 2 runs"));
  EXPECT_EQ(log.of("whole").size(), asked);
}

TEST_F(ModelPlugin, WithoutACheckpointAnEvaluationBeginsWithItsInitialValues) {
  Estimator estimator(whole(), with_whole());
  estimator.evaluate(lines());
  EXPECT_THAT(log.of("whole_evaluation"), Contains("evaluation: slope 2.500000, table 7.000000"));
}

TEST_F(ModelPlugin, AHookThatTheProgramHasNotIsNamedWithItsPlugin) {
  EstimatorSetup o = with_whole();
  o.params["wrong"] = std::string("no such hook");
  Estimator estimator(whole(), std::move(o));
  EXPECT_THAT(error_of([&] { estimator.train(lines()); }),
              HasSubstr("NOT_FOUND: [B2039] there is no hook \"witnes\" among the session's plugins"));
}

}  // namespace
}  // namespace belay::runtime::testing
