// SPDX-License-Identifier: Apache-2.0
// The program of docs/guide/one-prediction-at-a-time.md, run: the page shows what is between a line `// recipe: NAME`
// and
// `// end`.
#include <belay/ops/losses.h>
#include <belay/ops/matmul.h>
#include <belay/runtime/checkpoint.h>
#include <belay/runtime/session.h>
#include <belay/runtime/training_session.h>
#include <belay/runtime/variable_saver.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "plugins/default_plugins.h"
#include "tests/docs/page.h"
#include "tests/platform/temp_dir.h"

namespace belay {
namespace {

namespace ops = belay::ops;

// recipe: model
// The layers of the model: the training and the server call the same function, so names and shapes are the same.
Output rent_of(const Output& features) { return ops::dense(features, 1, {.name = "rent"}); }
// end

// recipe: server
// Answers one request at a time, from any number of threads.
class Server {
 public:
  explicit Server(std::string directory)
      : directory_(std::move(directory)),
        graph_(belay::default_plugins()),
        features_(ops::placeholder(graph_, DType::kFloat32, {-1, 2}, "features")),
        rent_(rent_of(features_)),
        weights_(graph_),
        session_(graph_) {
    take_newest();
  }
  // [any thread]
  float answer(float area, float rooms) const {
    return session_.run({rent_}, {{features_, Tensor({1, 2}, {area, rooms})}})[0].scalar<float>();
  }
  // Takes the weights of the newest checkpoint if there is a newer one. Requests may run meanwhile. [one thread]
  bool take_newest() {
    const std::string newest = belay::latest_checkpoint(directory_);
    if (newest.empty() || newest == current_) return false;
    weights_.restore(session_, newest);
    current_ = newest;
    return true;
  }

 private:
  const std::string directory_;
  std::string current_;
  belay::OwnedGraph graph_;
  const Output features_, rent_;
  belay::VariableSaver weights_;
  belay::OwnedSession session_;
};
// end

// A training of rent = 10 area + rooms, which continues from its last checkpoint.
void train(const std::string& directory, int steps) {
  OwnedGraph graph(default_plugins());
  const Output features = ops::constant(graph, Tensor({3, 2}, {1.f, 2.f, 2.f, 1.f, 3.f, 3.f}));
  const Output rents = ops::constant(graph, Tensor({3, 1}, {12.f, 21.f, 33.f}));
  const Output step = graph.minimize(ops::mean_squared_error(rent_of(features), rents), {.name = "adam"});
  MonitoredTrainingSession session(graph, {.checkpoint_dir = directory, .threads = 1});
  session.scope([&] {
    for (int i = 0; i < steps; ++i) session.run({step});
  });
}

float rent_by_hand(const std::string& directory, float area, float rooms) {
  const CheckpointReader trained(latest_checkpoint(directory), default_plugins());
  Tensor kernel = trained.read("rent/kernel"), bias = trained.read("rent/bias");
  return area * kernel.data<float>()[0] + rooms * kernel.data<float>()[1] + bias.data<float>()[0];
}

TEST(OnePrediction, AnAnswerIsThatOfTheNewestCheckpoint) {
  const runtime::TempDir temp;
  const std::string directory = temp / "run";
  train(directory, 3);
  Server server(directory);
  EXPECT_FLOAT_EQ(server.answer(2, 3), rent_by_hand(directory, 2, 3));
  EXPECT_FALSE(server.take_newest());
  const float before = server.answer(2, 3);
  train(directory, 4);
  EXPECT_EQ(server.answer(2, 3), before);
  EXPECT_TRUE(server.take_newest());
  EXPECT_FLOAT_EQ(server.answer(2, 3), rent_by_hand(directory, 2, 3));
  EXPECT_NE(server.answer(2, 3), before);
}

TEST(OnePrediction, RequestsOfSeveralThreadsSeeTheOldWeightsOrTheNewOnes) {
  const runtime::TempDir temp;
  const std::string directory = temp / "run";
  train(directory, 3);
  Server server(directory);
  const float before = server.answer(2, 3);
  train(directory, 4);
  std::atomic<bool> over = false;
  std::vector<std::vector<float>> answers(2);
  std::vector<std::thread> clients;
  for (std::vector<float>& own : answers)
    clients.emplace_back([&] {
      do own.push_back(server.answer(2, 3));
      while (!over);
    });
  EXPECT_TRUE(server.take_newest());
  over = true;
  for (std::thread& client : clients) client.join();
  const float after = server.answer(2, 3);
  EXPECT_NE(before, after);
  for (const std::vector<float>& own : answers) EXPECT_THAT(own, ::testing::Each(::testing::AnyOf(before, after)));
}

TEST(OnePrediction, ThePageShowsTheProgram) {
  const std::string file = "tests/docs/one_prediction_test.cc";
  EXPECT_THAT(runtime::fenced_blocks(runtime::read_source("docs/guide/one-prediction-at-a-time.md"), "cpp"),
              ::testing::ElementsAre(runtime::recipe(file, "model"), runtime::recipe(file, "server")));
}

}  // namespace
}  // namespace belay
