// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/sample_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "belay/model.h"
#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/philox.h"
#include "belay/testing/fake_host.h"
#include "belay/testing/option_values.h"
#include "belay/testing/plugin_library.h"
#include "plugins/default_plugins.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/monitored/model/model_service.h"
#include "runtime/session/session_service.h"
#include "tests/session/session_fixture.h"

extern "C" const belay_module belay_module_lstm, belay_module_transformer;

namespace belay::runtime::testing {
namespace {

using Names = std::vector<std::string>;
using Rows = std::vector<float>;

std::string sampled(DirectSession& session, const LanguageModel& model, const SampleOptions& options) {
  std::string text;
  sample_text(session, model, options, [&](std::string_view character) {
    text += character;
    return true;
  });
  return text;
}

// Models whose probabilities are written down.
class SampleText : public SessionTest {
 protected:
  // The next character depends on the present one alone: on its row of the table.
  void bigram(const Names& names, const Rows& rows, std::int64_t window = 4, DType dtype = DType::kInt32) {
    const auto n = static_cast<std::int64_t>(names.size());
    model.ids = ops::placeholder(g, dtype, {-1, window}, "ids");
    model.probabilities = ops::gather(ops::constant(g, Tensor({n, n}, rows)), model.ids);
    model.names = names;
    open();
  }
  // The first character of the window comes next.
  void repeats_the_first(const Names& names, std::int64_t window) {
    const auto n = static_cast<std::int64_t>(names.size());
    Tensor first(DType::kFloat32, {window, window}), same(DType::kFloat32, {n, n});
    for (std::int64_t i = 0; i < window; ++i) first.data<float>()[i] = 1;
    for (std::int64_t i = 0; i < n; ++i) same.data<float>()[i * n + i] = 1;
    model.ids = ops::placeholder(g, DType::kInt32, {-1, window}, "ids");
    const Output at_each = ops::matmul(ops::cast(model.ids, DType::kFloat32), ops::constant(g, first));
    model.probabilities = ops::gather(ops::constant(g, same), ops::cast(at_each, DType::kInt32));
    model.names = names;
    open();
  }
  std::string text(const SampleOptions& options) { return sampled(session(), model, options); }

  LanguageModel model;
};

const Names kAbc{"a", "b", "c"};
// Mostly a b c a b c ...
const Rows kCircle{0.25f, 0.5f, 0.25f, 0.125f, 0.125f, 0.75f, 0.5f, 0.25f, 0.25f};

TEST_F(SampleText, AtTemperatureZeroTheMostProbableCharacterFollows) {
  bigram(kAbc, kCircle);
  for (int again = 0; again < 2; ++again)
    for (const std::uint64_t seed : {1, 2}) {
      EXPECT_EQ(text({.prompt = "b", .length = 10, .temperature = 0, .seed = seed}), "cabcabcabc");
      EXPECT_EQ(text({.prompt = "bacbaabc", .length = 4, .temperature = 0, .seed = seed}), "abca");
    }
}

TEST_F(SampleText, OfEquallyProbableCharactersTheFirstFollows) {
  bigram(kAbc, {0.25f, 0.375f, 0.375f, 0, 0.5f, 0.5f, 1, 0, 0}, 4, DType::kInt64);
  EXPECT_EQ(text({.prompt = "a", .length = 3, .temperature = 0}), "bbb");
}

TEST_F(SampleText, ThePlaceAndTheSeedDrawEachCharacter) {
  bigram(kAbc, {0.25f, 0.25f, 0.5f, 0.25f, 0.25f, 0.5f, 0.25f, 0.25f, 0.5f});
  std::string expected;
  for (std::uint64_t place = 2; place < 42; ++place) {
    const PhiloxBlock random = philox(mix_key(7, stream_id("sample_text")), place, 0);
    const double u = uniform_double(random[0], random[1]);
    expected += u < 0.25 ? 'a' : u < 0.5 ? 'b' : 'c';
  }
  EXPECT_EQ(text({.prompt = "ca", .length = 40, .temperature = 1, .seed = 7}), expected);
}

TEST_F(SampleText, TheSameSeedDrawsTheSameTextAndAnotherSeedAnother) {
  bigram(kAbc, kCircle);
  const std::string first = text({.prompt = "a", .length = 100, .seed = 3});
  EXPECT_EQ(first.size(), 100u);
  EXPECT_EQ(text({.prompt = "a", .length = 100, .seed = 3}), first);
  EXPECT_NE(text({.prompt = "a", .length = 100, .seed = 4}), first);
}

TEST_F(SampleText, APromptThatIsTheBeginOfATextGoesOnAsThat) {
  bigram(kAbc, kCircle);
  const std::string whole = "ab" + text({.prompt = "ab", .length = 60, .seed = 5});
  for (const std::size_t known : {3, 4, 5, 40})  // the window holds 4
    EXPECT_EQ(text({.prompt = whole.substr(0, known), .length = static_cast<std::int64_t>(62 - known), .seed = 5}),
              whole.substr(known))
        << known;
}

TEST_F(SampleText, TemperatureIsAPowerOfTheProbabilities) {
  bigram({"a", "b"}, {0.25f, 0.75f, 0.25f, 0.75f});
  for (const double temperature : {0.5, 1.0, 4.0, 1e-300}) {
    const std::string drawn = text({.prompt = "a", .length = 4000, .temperature = temperature, .seed = 1});
    const double share = static_cast<double>(std::count(drawn.begin(), drawn.end(), 'a')) / 4000;
    const double expected = 1 / (1 + std::pow(3.0, 1 / temperature));
    EXPECT_NEAR(share, expected, 4 * std::sqrt(expected / 4000)) << temperature;
  }
}

TEST_F(SampleText, WhatIsImpossibleIsNeverDrawn) {
  bigram(kAbc, {0, 0.5f, 0.5f, 0, 0, 1, 1, 0, 0});
  const std::string drawn = "a" + text({.prompt = "a", .length = 500, .temperature = 1e300, .seed = 1});
  for (const char* never : {"aa", "ba", "bb", "cb", "cc"}) EXPECT_EQ(drawn.find(never), std::string::npos) << never;
}

TEST_F(SampleText, TheWindowIsTheEndOfTheText) {
  repeats_the_first(kAbc, 3);
  EXPECT_EQ(text({.prompt = "a", .length = 5, .temperature = 0}), "aaaaa");
  EXPECT_EQ(text({.prompt = "bc", .length = 7, .temperature = 0}), "bbcbbcb");
  EXPECT_EQ(text({.prompt = "abc", .length = 5, .temperature = 0}), "abcab");
  EXPECT_EQ(text({.prompt = "aaaaacab", .length = 5, .temperature = 0}), "cabca");
}

TEST_F(SampleText, WithoutAPromptItBeginsBehindANewlineOrTheFirstCharacter) {
  repeats_the_first({"a", "\n"}, 2);
  EXPECT_EQ(text({.length = 2, .temperature = 0}), "\n\n");
  model.names = {"a", "b"};
  EXPECT_EQ(text({.length = 2, .temperature = 0}), "aa");
}

TEST_F(SampleText, CharactersMayHaveSeveralBytes) {
  repeats_the_first({"\xc3\xa9", "e", "\xe2\x82\xac", "ee"}, 3);
  EXPECT_EQ(text({.prompt = "\xe2\x82\xac"
                            "e\xc3\xa9",
                  .length = 3,
                  .temperature = 0}),
            "\xe2\x82\xac"
            "e\xc3\xa9");
  EXPECT_EQ(text({.prompt = "eee\xc3\xa9", .length = 3, .temperature = 0}), "eee\xc3\xa9");  // "ee", then "e"
}

TEST_F(SampleText, CharactersMayBeBytes) {
  repeats_the_first({"\xc3", "\xa9"}, 2);
  EXPECT_EQ(text({.prompt = "\xc3\xa9", .length = 4, .temperature = 0}), "\xc3\xa9\xc3\xa9");
}

TEST_F(SampleText, EndsWhereItIsTold) {
  bigram(kAbc, kCircle);
  int delivered = 0;
  sample_text(session(), model, {.prompt = "a", .length = 100}, [&](std::string_view character) {
    EXPECT_EQ(character.size(), 1u);
    return ++delivered < 3;
  });
  EXPECT_EQ(delivered, 3);
  EXPECT_EQ(text({.prompt = "a", .length = 0}), "");
}

TEST_F(SampleText, AllWindowsShareOnePlan) {
  bigram(kAbc, kCircle);
  text({.prompt = "a", .length = 1});
  const PlanStats first = session().plan_stats();
  text({.prompt = "abcabcabc", .length = 50});
  EXPECT_EQ(session().plan_stats().plans_built, first.plans_built);
  EXPECT_EQ(session().plan_stats().programs_built, first.programs_built);
}

TEST_F(SampleText, RefusesOptionsThatCannotBe) {
  bigram(kAbc, kCircle);
  const auto error = [&](const SampleOptions& options) { return error_of([&] { text(options); }); };
  EXPECT_EQ(
      error({.temperature = -0.5}),
      "INVALID_ARGUMENT: [B5004] the temperature is -0.5, must be a number from 0 (the most probable character) up");
  EXPECT_EQ(
      error({.temperature = std::nan("")}),
      "INVALID_ARGUMENT: [B5004] the temperature is nan, must be a number from 0 (the most probable character) up");
  EXPECT_EQ(
      error({.temperature = std::numeric_limits<double>::infinity()}),
      "INVALID_ARGUMENT: [B5004] the temperature is inf, must be a number from 0 (the most probable character) up");
  EXPECT_EQ(error({.length = -1}), "INVALID_ARGUMENT: [B5004] the length is -1, must be >= 0");
}

TEST_F(SampleText, NamesTheCharacterThatHasNoId) {
  bigram(kAbc, kCircle);
  const auto error = [&](const std::string& prompt) { return error_of([&] { text({.prompt = prompt}); }); };
  EXPECT_EQ(error("ab\xc3\xa9"),
            "INVALID_ARGUMENT: [B5036] the prompt has '\xc3\xa9', which is not among the 3 characters of the "
            "vocabulary: 'a', "
            "'b', 'c'");
  EXPECT_EQ(error("a\tb"),
            "INVALID_ARGUMENT: [B5036] the prompt has '\\t', which is not among the 3 characters of the vocabulary: "
            "'a', 'b', "
            "'c'");
}

TEST_F(SampleText, ListsAFewCharactersOfALargeVocabulary) {
  Names names;
  for (char c = 'a'; c <= 'p'; ++c) names.emplace_back(1, c);
  bigram(names, Rows(16 * 16, 1));
  EXPECT_EQ(
      error_of([&] { text({.prompt = "A"}); }),
      "INVALID_ARGUMENT: [B5036] the prompt has 'A', which is not among the 16 characters of the vocabulary: 'a', 'c', "
      "'e', 'g', 'i', 'k', 'm', 'o', ...");
}

TEST_F(SampleText, RefusesWhatIsNoLanguageModel) {
  bigram(kAbc, kCircle);
  model.names.pop_back();
  EXPECT_EQ(error_of([&] { text({.prompt = "a"}); }),
            "INVALID_ARGUMENT: [B5036] sampling needs the probabilities of the next id at each place, [?, 4, 2], as "
            "the models "
            "'lstm' and 'transformer' predict them; the model predicts " +
                model.probabilities.text());
  const Output probabilities = std::exchange(model.probabilities, Output());
  EXPECT_EQ(error_of([&] { text({.prompt = "a"}); }),
            "INVALID_ARGUMENT: [B5036] sampling needs the prediction 'probabilities', as the models 'lstm' and "
            "'transformer' have it");
  model.names.clear();
  EXPECT_EQ(
      error_of([&] { text({.prompt = "a"}); }),
      "INVALID_ARGUMENT: [B5036] the input does not declare which characters the ids of 'ids:0' (int32 [?, 4]) are "
      "(set_class_names), so there is no text to sample; the input 'text' does");
  model.ids = probabilities;
  EXPECT_EQ(error_of([&] { text({.prompt = "a"}); }),
            "INVALID_ARGUMENT: [B5036] sampling needs a model of ids, int32 or int64 [batch, time] with a known time; "
            "the feature "
            "is " +
                probabilities.text());
}

TEST_F(SampleText, SaysThatTheModelHasDiverged) {
  const float nan = std::nanf("");
  bigram(kAbc, {nan, nan, nan, 0, 0, 0, 0, std::numeric_limits<float>::infinity(), 0});
  for (const char* prompt : {"a", "b", "c"})
    EXPECT_EQ(
        error_of([&] { text({.prompt = prompt}); }),
        "DIVERGED: [B5043] the model's probabilities are no finite numbers; the checkpoint is of a training that has "
        "diverged");
}

// The shipped language models, trained until they have learned a text whose last two characters decide the next one.
class SampledModel : public ::testing::Test {
 protected:
  static constexpr std::int64_t kWindow = 8, kExamples = 4;

  SampledModel() : ops(make_op_registry()), training(*ops), prediction(*ops) {
    host.set_service("graph", graph_service());
    host.set_service("session", session_service());
    host.set_service("model", model_service());
  }
  void train(const belay_module& module, const belay::testing::OptionValues& options) {
    table = detail::adopt(belay::testing::find_table<belay_model_api>(module, ""));
    plugin = options.create(host, &table);
    const belay::Graph g = training.handle();
    const Output ids = ops::placeholder(g, DType::kInt32, {-1, kWindow}, "ids");
    const Output next = ops::placeholder(g, DType::kInt32, {-1, kWindow}, "next");
    ModelOutputs outputs = build_model(plugin, training, Mode::kTrain, {{"ids", ids, 3}}, {{"next", next, 3}});
    OptimizerSettings adam;
    adam.name = "adam";
    adam.learning_rate.learning_rate = 0.02;
    add_train_op(training, LinkedOptimizer(adam, default_plugins()).use(), outputs);
    training.finalize();
    const auto trainer = std::make_shared<DirectSession>(training, store, DirectSessionOptions{});
    trainer->run_once(training.collection("variable_init"));
    for (int step = 0; step < 150; ++step)
      trainer->handle().run({outputs.train_op}, {{ids, windows(step)}, {next, windows(step + 1)}});
  }
  // Windows of "abacabac...", each of another begin.
  static Tensor windows(int begin) {
    Tensor t(DType::kInt32, {kExamples, kWindow});
    for (std::int64_t row = 0; row < kExamples; ++row)
      for (std::int64_t i = 0; i < kWindow; ++i) {
        const std::int64_t at = begin + row + i;
        t.data<std::int32_t>()[row * kWindow + i] = at % 2 == 0 ? 0 : at % 4 == 1 ? 1 : 2;
      }
    return t;
  }
  void predict() {
    const Output ids = ops::placeholder(prediction.handle(), DType::kInt32, {-1, kWindow}, "ids");
    const ModelOutputs outputs = build_model(plugin, prediction, Mode::kPredict, {{"ids", ids, 3}}, {},
                                             {{"next", DType::kInt32, {-1, kWindow}, 3}});
    model = {ids, outputs.predictions.at(0).output, kAbc};
    prediction.finalize();
    session = std::make_shared<DirectSession>(prediction, store, DirectSessionOptions{});
  }
  void learns_the_text() {
    predict();
    const auto text = [&](const std::string& prompt, std::int64_t length) {
      return sampled(*session, model, {.prompt = prompt, .length = length, .temperature = 0});
    };
    EXPECT_EQ(text("ab", 12), "acabacabacab");
    EXPECT_EQ(text("ac", 12), "abacabacabac");
    EXPECT_EQ(text("acabacabacab", 12), "acabacabacab");
    const SampleOptions warm{.prompt = "ab", .length = 100, .temperature = 4, .seed = 1};
    EXPECT_EQ(sampled(*session, model, warm), sampled(*session, model, warm));
    EXPECT_NE(sampled(*session, model, warm),
              sampled(*session, model, {.prompt = "ab", .length = 100, .temperature = 4, .seed = 2}));
  }

  belay::testing::FakeHost host;
  belay_model_api table{};
  ModelHandle plugin;
  std::unique_ptr<OpRegistry> ops;
  NodeGraph training, prediction;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  std::shared_ptr<DirectSession> session;
  LanguageModel model;
};

TEST_F(SampledModel, LstmSamplesTheTextThatItHasLearned) {
  train(belay_module_lstm, {{"embedding", 4}, {"hidden", 12}});
  learns_the_text();
}

TEST_F(SampledModel, TransformerSamplesTheTextThatItHasLearned) {
  train(belay_module_transformer, {{"layers", 1}, {"heads", 2}, {"width", 16}, {"feed_forward", 24}});
  learns_the_text();
}

}  // namespace
}  // namespace belay::runtime::testing
