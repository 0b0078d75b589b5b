// SPDX-License-Identifier: Apache-2.0
// The programs of docs/guide/coming-from-tf1.md, run: what is there between the fences is cut out of this file, from a
// line `// recipe: NAME` to `// end`.
#include <belay/ops/defaults.h>
#include <belay/ops/losses.h>
#include <belay/ops/matmul.h>
#include <belay/ops/reductions.h>
#include <belay/runtime/queue_inputs.h>
#include <belay/runtime/training_session.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/default_plugins.h"
#include "tests/docs/page.h"
#include "tests/platform/temp_dir.h"

namespace belay {
namespace {

namespace ops = belay::ops;
using ::testing::ElementsAre;

// The header that a cell names, "belay/hooks/stop_if.h", is there.
bool is_public_header(const std::string& header) {
  return std::ifstream(BELAY_SOURCE_DIR "/sdk/include/" + header).good() ||
         std::ifstream(BELAY_SOURCE_DIR "/runtime/include/" + header).good();
}

TEST(ComingFromTf1, AMonitoredSessionTrainsToItsStep) {
  runtime::TempDir temp;
  const std::string directory = temp / "run";
  OwnedGraph graph(default_plugins());
  const Output w = ops::variable(graph, "w", Tensor(0.0f));
  const Output train = graph.minimize(ops::square(w - 3.0, "loss"));
  // recipe: monitored_session
  belay::TrainingSessionOptions options{.checkpoint_dir = directory};
  options.checkpoint.save_steps = 100;                                                // save_checkpoint_steps
  options.hooks.push_back(belay::plugin_hook("stop_at_step", {{"last_step", 200}}));  // StopAtStepHook
  options.hooks.push_back(belay::plugin_hook("nan_tensor", {{"tensor", "loss"}}));    // NanTensorHook
  options.hooks.push_back(
      belay::plugin_hook("logging_tensor", {{"tensors", std::vector<std::string>{"loss"}}, {"every_n_iter", 100}}));
  belay::MonitoredTrainingSession session(graph, options);
  session.scope([&] {  // with tf.train.MonitoredTrainingSession(...) as session:
    while (!session.should_stop()) session.run({train});
  });
  // end
  EXPECT_EQ(session.global_step(), 200);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-200");
}

// Fits value = 2 point, by queues and layers made in a scope.
TEST(ComingFromTf1, AQueuePipelineFeedsATraining) {
  OwnedGraph graph(default_plugins());
  std::vector<float> numbers(100), twice(100);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(i) / 100;
    twice[i] = 2 * numbers[i];
  }
  const Output points = ops::constant(graph, Tensor({100, 1}, numbers));
  const Output values = ops::constant(graph, Tensor({100, 1}, twice));
  // recipe: queue_inputs
  const std::vector<Output> example = ops::slice_input_producer({points, values}, {.num_epochs = 10, .seed = 7});
  const std::vector<Output> batch =
      ops::shuffle_batch(example, 16, /*capacity*/ 64, /*min_after_dequeue*/ 32, {.allow_smaller_final_batch = true});
  const Output x = batch[0], y = batch[1];
  // end
  // recipe: defaults
  const auto scope = ops::defaults(  // with slim.arg_scope([slim.fully_connected], activation_fn=tf.nn.relu):
      ops::DenseOptions{.activation = ops::Activation::kRelu});
  const Output hidden = ops::dense(x, 8);                                             // relu
  const Output line = ops::dense(hidden, 1, {.activation = ops::Activation::kNone});  // linear
  // end
  const Output train = graph.minimize(ops::mean_squared_error(line, y), {.name = "adam"});
  LogOptions log;
  log.write = [](std::string_view) {};
  TrainingSessionOptions options{.threads = 1};
  options.log = log;
  MonitoredTrainingSession session(graph, options);
  session.scope([&] {
    while (!session.should_stop()) session.run({train});
  });
  EXPECT_EQ(session.global_step(), 63);  // 10 * 100 examples in batches of 16, and one of 8
  EXPECT_EQ(session.end_reason().kind, EndReason::Kind::kEndOfInput);
}

TEST(ComingFromTf1, ThePageShowsThePrograms) {
  const std::string file = "tests/docs/coming_from_tf1_test.cc";
  EXPECT_THAT(runtime::fenced_blocks(runtime::read_source("docs/guide/coming-from-tf1.md"), "cpp"),
              ElementsAre(runtime::recipe(file, "monitored_session"), runtime::recipe(file, "queue_inputs"),
                          runtime::recipe(file, "defaults")));
}

// Plugins and headers in the right-hand columns exist; calls are checked by the listings and by hand.
TEST(ComingFromTf1, ThePageNamesHooksAndHeadersThatExist) {
  const auto sections = runtime::sections_of(runtime::read_source("docs/guide/coming-from-tf1.md"));
  std::size_t headers = 0;
  for (const runtime::PageSection& section : sections)
    for (std::size_t at = section.text.find("`belay/"); at != std::string::npos;
         at = section.text.find("`belay/", at + 1)) {
      const std::string header = section.text.substr(at + 1, section.text.find('`', at + 1) - at - 1);
      if (header.find('*') != std::string::npos) continue;
      EXPECT_TRUE(is_public_header(header)) << header;
      ++headers;
    }
  EXPECT_GT(headers, 4u);
  const runtime::PageSection* hooks = runtime::find_section(sections, "Hooks");
  ASSERT_NE(hooks, nullptr);
  std::size_t named = 0;
  for (const runtime::Row& row : hooks->rows) {
    const std::string plugin = runtime::code_of(row.at(1));
    if (plugin.empty() || plugin.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) continue;
    EXPECT_TRUE(std::ifstream(BELAY_SOURCE_DIR "/plugins/hooks/" + plugin + "/CMakeLists.txt").good()) << plugin;
    ++named;
  }
  EXPECT_GT(named, 8u);
}

}  // namespace
}  // namespace belay
