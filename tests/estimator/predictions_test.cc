// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/predictions.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/plugin.h"
#include "belay/testing/allocations.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/loader/library/registry.h"
#include "tests/monitored/saver_fixture.h"

BELAY_COUNT_ALLOCATIONS

namespace {

namespace ops = belay::ops;
using belay::Dims;
using belay::DType;
using belay::Output;
using belay::Tensor;

// x = 1, 2, 3, ... and the label y = 10 x, a batch at a time.
class Examples final : public belay::Input {
 public:
  struct Options {
    std::int64_t examples = 5;
    std::int64_t batch = 2;
    std::int64_t epochs = 1;
    belay::Str id = "none";
    std::int64_t fails_at = -1;
  };
  static constexpr auto about = belay::about(
      "examples", "Counts", belay::option("examples", &Options::examples, "of an epoch"),
      belay::option("batch", &Options::batch, "at a time"), belay::option("epochs", &Options::epochs, "0: for ever"),
      belay::option("id", &Options::id, "what it is").choices("none", "feature", "label", "words", "words beside"),
      belay::option("fails_at", &Options::fails_at, "the example that cannot be read"));
  explicit Examples(const Options& o) : o_(o) {}

  void spec(belay::InputSpec& spec) override {
    x_ = spec.feature("x", DType::kFloat32, {-1});
    y_ = spec.label("y", DType::kFloat32, {-1});
    if (o_.id == "feature") id_ = spec.feature("id", DType::kInt64, {-1});
    if (o_.id == "label") id_ = spec.label("id", DType::kInt64, {-1});
    if (o_.id == "words") id_ = spec.feature("id", DType::kString, {-1});
    if (o_.id == "words beside") id_ = spec.label("id", DType::kString, {-1});
  }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    if (o_.epochs != 0 && at_.epoch == o_.epochs) return false;
    if (at_.index == o_.fails_at) belay::fail(belay::Code::kDataLoss, "an example is damaged");
    const std::int64_t n = std::min(o_.batch, o_.examples - at_.index);
    float* x = batch.tensor(x_, {n}).data<float>();
    float* y = batch.tensor(y_, {n}).data<float>();
    const bool words = o_.id == "words" || o_.id == "words beside";
    const belay::TensorView ids = o_.id == "none" ? belay::TensorView() : batch.tensor(id_, {n});
    std::int64_t* id = o_.id == "none" || words ? nullptr : ids.data<std::int64_t>();
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(++at_.index);
      y[i] = 10 * x[i];
      if (id != nullptr) id[i] = 100 + at_.index;
      if (words) batch.set_string(id_, static_cast<std::uint64_t>(i), "0" + std::to_string(100 + at_.index));
    }
    if (at_.index == o_.examples) at_ = {at_.epoch + 1, 0};
    position = at_;
    return true;
  }
  void seek(const belay::Position& position) override { at_ = position; }

 private:
  const Options o_;
  std::uint32_t x_ = 0, y_ = 0, id_ = 0;
  belay::Position at_;
};

// Its option names its prediction.
class Scaled final : public belay::Model {
 public:
  struct Options {
    belay::Str predicts = "good";
  };
  static constexpr auto about =
      belay::about("scaled", "Multiplies its input",
                   belay::option("predicts", &Options::predicts, "what")
                       .choices("good", "nothing", "a scalar", "as many again", "no feature"));
  explicit Scaled(const Options& o) : predicts_(o.predicts) {}

  void build(belay::ModelContext& model) override {
    ++builds;
    mode = model.mode();
    n_labels = model.labels().size();
    names.clear();
    for (const belay::NamedOutput& f : model.features()) names.push_back(f.name);
    for (const belay::DeclaredLabel& l : model.declared_labels()) names.push_back(l.name);
    const belay::Graph& g = model.graph();
    const Output x = model.feature("x");
    const Output scale = ops::variable(g, "scale", Tensor(2.0f));
    if (predicts_ == "nothing") return;
    const Output scaled = x * scale;
    if (predicts_ == "no feature") return model.prediction("scale", ops::expand_dims(scale, 0));
    model.prediction("scaled", scaled);
    model.prediction("pair", ops::concat({ops::expand_dims(x, 1), ops::expand_dims(scaled, 1)}, 1));
    if (predicts_ == "a scalar") model.prediction("total", ops::reduce_sum(x));
    if (predicts_ == "as many again") model.prediction("twice", ops::concat({x, x}, 0));
  }

  static int builds;
  static belay::Mode mode;
  static std::size_t n_labels;
  static std::vector<std::string> names;  // of features and of declared labels

 private:
  const belay::Str predicts_;
};
int Scaled::builds;
belay::Mode Scaled::mode;
std::size_t Scaled::n_labels;
std::vector<std::string> Scaled::names;

}  // namespace

BELAY_MODULE("1.0.0", Examples, Scaled)

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using PluginOptions = std::vector<std::pair<std::string, OptionValue>>;

class PredictionsTest : public SaverTest {
 protected:
  PredictionsTest() {
    registry.add_linked(&belay_module_v0);
    Scaled::builds = 0;
  }
  PluginInstance& create(PluginKind kind, const std::string& name, const PluginOptions& options, CallMonitor& of) {
    const RegisteredPlugin* plugin = registry.find(kind, name, "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = name;
    for (const auto& [option, value] : options) resolved.options.add(option, value, plugin->info.option(option)->type);
    return instances.create(*plugin, resolved, services, of);
  }
  void use_input(const PluginOptions& options) {
    input = InputFeed::open(create(PluginKind::kInput, "examples", options, input_monitor), {.name = "predict"});
  }
  std::unique_ptr<Predictions> predict(PredictOptions options = {}, const std::string& predicts = "good") {
    if (input == nullptr) use_input({});
    PluginInstance& model = create(PluginKind::kModel, "scaled", {{"predicts", predicts}}, monitor);
    return std::make_unique<Predictions>(*ops, environment, model, input, hooks, std::move(options));
  }
  static PredictOptions keys(std::vector<std::string> wanted) { return {.predict_keys = std::move(wanted)}; }
  static std::vector<float> floats(const TensorView& t) {
    return {t.data<const float>(), t.data<const float>() + t.size()};
  }
  static const TensorView& value(const Prediction* batch, const std::string& name) {
    const auto at = std::ranges::find(batch->names, name);
    EXPECT_NE(at, batch->names.end()) << name;
    return batch->values[static_cast<std::size_t>(at - batch->names.begin())];
  }
  static std::vector<float> all_scaled(Predictions& predictions) {
    std::vector<float> values;
    while (const Prediction* batch = predictions.next_batch())
      for (const float v : floats(value(batch, "scaled"))) values.push_back(v);
    return values;
  }
  int warnings() const {
    int n = 0;
    for (std::size_t at = 0; (at = log_text.find("begins its examples again", at)) != std::string::npos; ++at) ++n;
    return n;
  }
  // A checkpoint of the model, in a separate directory.
  std::string save_scale(const std::string& directory, std::int64_t step, float scale) {
    const auto into = posix_file_system().make_directories(directory);
    CheckpointSeries series(posix_file_system(), *into, clock, *log, {});
    const Tensor scale_value(scale), step_value(step), slot(1.5f);
    CheckpointContent content;
    content.variables = {{"scale", scale_value.view()}, {"global_step", step_value.view()}, {"scale/m", slot.view()}};
    content.global_step = step;
    return series.save(content, codec_use());
  }
  SaverUse codec_use() const { return saver_use(*codec); }
  std::function<void(DirectSession&)> from(const std::string& directory, const std::string& choice) {
    return [=, this](DirectSession& session) {
      load_checkpoint({posix_file_system(), *log, directory}, parse_checkpoint_choice(choice), codec_use(), session);
    };
  }

  CallMonitor input_monitor;
  std::shared_ptr<InputFeed> input;
};

TEST_F(PredictionsTest, EST_28_NothingHappensBeforeTheFirstIsAskedForAndARunIsForABatch) {
  add_probe("a");
  const auto predictions = predict();
  EXPECT_EQ(Scaled::builds, 0);
  EXPECT_THAT(new_events(), IsEmpty());
  ASSERT_NE(predictions->next_batch(), nullptr);
  EXPECT_THAT(new_events(), ElementsAre("a.begin", "a.after_create_session", "a.before_run", "a.after_run"));
  ASSERT_NE(predictions->next_batch(), nullptr);
  EXPECT_THAT(new_events(), ElementsAre("a.before_run", "a.after_run"));
}

TEST_F(PredictionsTest, EST_28_TheEndOfTheInputEndsTheHooks) {
  add_probe("a");
  const auto predictions = predict();
  EXPECT_THAT(all_scaled(*predictions), ElementsAre(2, 4, 6, 8, 10));
  EXPECT_EQ(timeline.back(), "a.end");
  EXPECT_EQ(predictions->next_batch(), nullptr);
}

TEST_F(PredictionsTest, EST_29_ABatchIsAllItsRows) {
  const auto predictions = predict();
  const Prediction* batch = predictions->next_batch();
  EXPECT_EQ(batch->examples, 2);
  EXPECT_THAT(batch->names, ElementsAre("scaled", "pair"));
  EXPECT_EQ(value(batch, "pair").dims(), (Dims{2, 2}));
  EXPECT_THAT(floats(value(batch, "pair")), ElementsAre(1, 2, 2, 4));
  predictions->next_batch();
  EXPECT_EQ(predictions->next_batch()->examples, 1);
  EXPECT_EQ(predictions->next_batch(), nullptr);
}

TEST_F(PredictionsTest, EST_29_UnequalFirstDimensionsAreAnErrorThatNamesBoth) {
  Probe& probe = add_probe("a");
  const auto predictions = predict({}, "as many again");
  const std::string error =
      "INVALID_ARGUMENT: [B5035] the predictions are not of as many examples: prediction 'scaled' is [2], prediction "
      "'twice' "
      "is [4]";
  EXPECT_EQ(error_of([&] { predictions->next_batch(); }), error);
  EXPECT_EQ(probe.error, error);
  EXPECT_EQ(error_of([&] { predictions->next_batch(); }),
            "FAILED_PRECONDITION: [B5071] the predictions have ended with an error");
}

TEST_F(PredictionsTest, EST_29_AScalarIsNoRow) {
  const auto predictions = predict({}, "a scalar");
  EXPECT_EQ(
      error_of([&] { predictions->next_batch(); }),
      "INVALID_ARGUMENT: [B5035] prediction 'total' is a scalar; a prediction has a value for each example, the first "
      "dimension");
}

TEST_F(PredictionsTest, EST_29_KeysChooseAmongThePredictions) {
  auto predictions = predict(keys({"pair"}), "as many again");
  EXPECT_THAT(predictions->next_batch()->names, ElementsAre("pair"));
  predictions.reset();  // the input is for one at a time
  const auto in_the_models_order = predict(keys({"pair", "scaled"}));
  EXPECT_THAT(in_the_models_order->next_batch()->names, ElementsAre("scaled", "pair"));
}

TEST_F(PredictionsTest, EST_29_UnknownKeysAreAnErrorThatListsTheKeys) {
  const auto predictions = predict(keys({"scaled", "class", "pairs"}));
  EXPECT_THAT(error_of([&] { predictions->next_batch(); }),
              HasSubstr("has no prediction 'class', 'pairs'; predict.keys (--keys) may name: scaled, pair"));
}

TEST_F(PredictionsTest, AModelWithoutPredictionsIsAnError) {
  const auto predictions = predict({}, "nothing");
  EXPECT_THAT(error_of([&] { predictions->next_batch(); }),
              HasSubstr("has no predictions; its build must call prediction(...)"));
}

TEST_F(PredictionsTest, EST_30_AnInputThatBeginsAgainIsOneWarning) {
  use_input({{"examples", std::int64_t{4}}, {"epochs", std::int64_t{0}}});
  const auto predictions = predict();
  for (int i = 0; i < 20; ++i) ASSERT_NE(predictions->next_batch(), nullptr);
  EXPECT_EQ(warnings(), 1);
}

TEST_F(PredictionsTest, EST_30_AnInputOfOnePassIsNone) {
  const auto predictions = predict();
  EXPECT_EQ(all_scaled(*predictions).size(), 5u);
  EXPECT_EQ(warnings(), 0);
}

TEST_F(PredictionsTest, EST_31_AnotherRunsNewestCheckpointOrAGivenOne) {
  const std::string directory = temp / "old";
  const std::string first = save_scale(directory, 10, 3);
  save_scale(directory, 20, 5);
  EXPECT_THAT(all_scaled(*predict({.fill = from(directory, "latest")})), ElementsAre(5, 10, 15, 20, 25));
  EXPECT_THAT(all_scaled(*predict({.fill = from("", first)})), ElementsAre(3, 6, 9, 12, 15));
  EXPECT_THAT(all_scaled(*predict({.fill = from(directory, "10")})), ElementsAre(3, 6, 9, 12, 15));
}

TEST_F(PredictionsTest, EST_31_APathThatIsNotThereIsAnError) {
  Probe& probe = add_probe("a");
  const auto predictions = predict({.fill = from("", temp / "nothing")});
  EXPECT_EQ(error_of([&] { predictions->next_batch(); }), "NOT_FOUND: [B4025] there is no '" + temp / "nothing" +
                                                              "'; --checkpoint is latest, best, a step or a path");
  EXPECT_THAT(probe.error, HasSubstr("there is no"));
}

TEST_F(PredictionsTest, WithoutACheckpointTheVariablesAreAsInitialized) {
  EXPECT_THAT(all_scaled(*predict()), ElementsAre(2, 4, 6, 8, 10));
}

TEST_F(PredictionsTest, TheModelGetsTheFeaturesAndNoLabels) {
  predict()->next_batch();
  EXPECT_EQ(Scaled::mode, Mode::kPredict);
  EXPECT_EQ(Scaled::n_labels, 0u);
}

TEST_F(PredictionsTest, IdsComeAlongWhetherTheyAreAFeatureOrALabel) {
  for (const char* kind : {"feature", "label"}) {
    use_input({{"id", std::string(kind)}});
    const auto predictions = predict();
    std::vector<std::int64_t> ids;
    while (const Prediction* batch = predictions->next_batch())
      ids.insert(ids.end(), batch->id.data<const std::int64_t>(),
                 batch->id.data<const std::int64_t>() + batch->examples);
    EXPECT_THAT(ids, ElementsAre(101, 102, 103, 104, 105)) << kind;
  }
  use_input({});
  EXPECT_FALSE(predict()->next_batch()->id.has_value());
}

TEST_F(PredictionsTest, IdsThatAreWordsComeAlongAsTheyAre) {
  for (const char* kind : {"words", "words beside"}) {
    use_input({{"id", std::string(kind)}});
    const auto predictions = predict();
    std::vector<std::string> ids;
    while (const Prediction* batch = predictions->next_batch())
      for (std::size_t i = 0; i < batch->id.size(); ++i) ids.emplace_back(batch->id.text(i));
    EXPECT_THAT(ids, ElementsAre("0101", "0102", "0103", "0104", "0105")) << kind;
  }
}

TEST_F(PredictionsTest, AModelGetsAnIdOnlyWhereItIsANumberAmongTheFeatures) {
  const auto seen = [this](const char* kind) {
    use_input({{"id", std::string(kind)}});
    predict()->next_batch();
    return Scaled::names;
  };
  EXPECT_THAT(seen("feature"), ElementsAre("x", "id", "y"));
  for (const char* kind : {"label", "words", "words beside"}) EXPECT_THAT(seen(kind), ElementsAre("x", "y")) << kind;
}

TEST_F(PredictionsTest, IdsAreOneForEachExample) {
  use_input({{"id", std::string("label")}});
  const auto predictions = predict({}, "no feature");
  EXPECT_EQ(error_of([&] { predictions->next_batch(); }),
            "INVALID_ARGUMENT: [B5035] there is not an id for each example: the input's 'id' is [2], prediction "
            "'scale' is [1]");
}

TEST_F(PredictionsTest, AModelThatUsesNoFeatureEndsWithTheInput) {
  const auto predictions = predict({}, "no feature");
  int examples = 0;
  while (const Prediction* batch = predictions->next_batch()) examples += static_cast<int>(batch->examples);
  EXPECT_EQ(examples, 3);  // one a batch
}

TEST_F(PredictionsTest, AHookThatAsksToStopEndsThemBehindItsBatch) {
  Probe& probe = add_probe("a");
  probe.look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  const auto predictions = predict();
  EXPECT_THAT(all_scaled(*predictions), ElementsAre(2, 4));
  EXPECT_EQ(timeline.back(), "a.end");
}

TEST_F(PredictionsTest, WhoDropsThemGetsNoEnd) {
  add_probe("a");
  predict()->next_batch();
  EXPECT_THAT(timeline, ElementsAre("a.begin", "a.after_create_session", "a.before_run", "a.after_run"));
}

TEST_F(PredictionsTest, AnErrorOfTheInputIsToldToTheHooksAndThrown) {
  use_input({{"fails_at", std::int64_t{2}}});
  Probe& probe = add_probe("a");
  const auto predictions = predict();
  EXPECT_NE(predictions->next_batch(), nullptr);
  EXPECT_THAT(error_of([&] { predictions->next_batch(); }), HasSubstr("an example is damaged"));
  EXPECT_THAT(probe.error, HasSubstr("an example is damaged"));
  EXPECT_EQ(timeline.back(), "a.on_error");
}

TEST_F(PredictionsTest, APreemptionIsAnErrorLikeOthers) {
  Probe& probe = add_probe("a");
  probe.in["after_run"] = [] { fail(Code::kUnavailable, "the machine goes away"); };
  const auto predictions = predict();
  EXPECT_THAT(error_of([&] { predictions->next_batch(); }), HasSubstr("the machine goes away"));
  EXPECT_EQ(std::count(timeline.begin(), timeline.end(), "a.after_create_session"), 1);
}

TEST_F(PredictionsTest, TheSecondTimeBeginsTheInputAnew) {
  EXPECT_THAT(all_scaled(*predict()), ElementsAre(2, 4, 6, 8, 10));
  EXPECT_THAT(all_scaled(*predict()), ElementsAre(2, 4, 6, 8, 10));
  predict()->next_batch();
  EXPECT_THAT(all_scaled(*predict()), ElementsAre(2, 4, 6, 8, 10));
}

// Counts on the reading thread; the input's thread draws the batches.
TEST_F(PredictionsTest, WarmBatchesAllocateNothingAndBuildNoPlan) {
  use_input({{"examples", std::int64_t{4000}}, {"batch", std::int64_t{4}}, {"id", std::string("label")}});
  const DirectSession* session = nullptr;
  const auto predictions = predict({.fill = [&](DirectSession& filled) { session = &filled; }});
  for (int i = 0; i < 100; ++i) predictions->next_batch();
  ASSERT_NE(session, nullptr);
  const PlanStats before = session->plan_stats();
  const std::uint64_t start = belay::testing::allocations();
  for (int i = 0; i < 750; ++i) predictions->next_batch();
  EXPECT_EQ(belay::testing::allocations() - start, 0u);
  const PlanStats after = session->plan_stats();
  EXPECT_EQ(after.plans_built, before.plans_built);
  EXPECT_EQ(after.programs_built, before.programs_built);
}

}  // namespace
}  // namespace belay::runtime::testing
