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

#include <cctype>
#include <fstream>
#include <sstream>
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

// The public names of TensorFlow 1.15, by module. A name that another module has as well is listed once.
constexpr const char* kNamesOfTensorFlow[] = {
    // tf.train
    "AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer BytesList Checkpoint CheckpointManager",
    "CheckpointSaverHook CheckpointSaverListener ChiefSessionCreator ClusterDef ClusterSpec Coordinator Example",
    "ExponentialMovingAverage Feature FeatureList FeatureLists Features FeedFnHook FinalOpsHook FloatList "
    "FtrlOptimizer",
    "GlobalStepWaiterHook GradientDescentOptimizer Int64List JobDef LoggingTensorHook LooperThread MomentumOptimizer",
    "MonitoredSession MonitoredTrainingSession NanLossDuringTrainingError NanTensorHook NewCheckpointReader Optimizer",
    "ProfilerHook ProximalAdagradOptimizer ProximalGradientDescentOptimizer QueueRunner RMSPropOptimizer Saver "
    "SaverDef",
    "Scaffold SecondOrStepTimer SequenceExample Server ServerDef SessionCreator SessionManager SessionRunArgs",
    "SessionRunContext SessionRunHook SessionRunValues SingularMonitoredSession StepCounterHook StopAtStepHook",
    "SummarySaverHook Supervisor SyncReplicasOptimizer VocabInfo WorkerSessionCreator add_queue_runner",
    "assert_global_step basic_train_loop batch batch_join checkpoint_exists checkpoints_iterator cosine_decay",
    "cosine_decay_restarts create_global_step do_quantize_training_on_graphdef exponential_decay export_meta_graph",
    "generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state get_global_step",
    "get_or_create_global_step global_step import_meta_graph init_from_checkpoint input_producer inverse_time_decay",
    "latest_checkpoint limit_epochs linear_cosine_decay list_variables load_checkpoint load_variable",
    "match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join natural_exp_decay",
    "noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay queue_runner",
    "range_input_producer remove_checkpoint replica_device_setter sdca_fprint sdca_optimizer sdca_shrink_l1",
    "shuffle_batch shuffle_batch_join slice_input_producer start_queue_runners string_input_producer summary_iterator",
    "update_checkpoint_state warm_start write_graph",
    // tf.estimator
    "BaselineClassifier BaselineEstimator BaselineRegressor BestExporter BinaryClassHead BoostedTreesClassifier",
    "BoostedTreesEstimator BoostedTreesRegressor ClassificationOutput DNNClassifier DNNEstimator",
    "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor DNNRegressor Estimator",
    "EstimatorSpec EvalSpec ExportOutput Exporter FinalExporter Head InMemoryEvaluatorHook KMeans LatestExporter",
    "LinearClassifier LinearEstimator LinearRegressor LinearSDCA LogisticRegressionHead ModeKeys MultiClassHead",
    "MultiHead MultiLabelHead PoissonRegressionHead PredictOutput RegressionHead RegressionOutput RunConfig",
    "ServingInputReceiver TensorServingInputReceiver TrainSpec WarmStartSettings add_metrics",
    "build_parsing_serving_input_receiver_fn build_raw_serving_input_receiver_fn",
    "build_raw_supervised_input_receiver_fn call_logit_fn classifier_parse_example_spec dnn_logit_fn_builder eval_dir",
    "experimental_export_all_saved_models export_saved_model export_savedmodel get_variable_names get_variable_value",
    "linear_logit_fn_builder make_early_stopping_hook make_stop_at_checkpoint_step_hook numpy_input_fn pandas_input_fn",
    "regressor_parse_example_spec stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook",
    "stop_if_no_increase_hook train_and_evaluate",
    // tf.summary
    "Event FileWriter FileWriterCache SessionLog Summary SummaryDescription TaggedRunMetadata all_v2_summary_ops audio",
    "get_summary_description histogram image initialize merge merge_all scalar tensor_summary text",
    // tf.layers
    "AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization Conv1D Conv2D Conv2DTranspose Conv3D",
    "Conv3DTranspose Dense Dropout Flatten InputSpec Layer MaxPooling1D MaxPooling2D MaxPooling3D SeparableConv1D",
    "SeparableConv2D average_pooling1d average_pooling2d average_pooling3d batch_normalization conv1d conv2d",
    "conv2d_transpose conv3d conv3d_transpose dense dropout flatten max_pooling1d max_pooling2d max_pooling3d",
    "separable_conv1d separable_conv2d",
    // slim
    "add_arg_scope analyze_vars apply_regularization arg_scope arg_scoped_arguments assign_from_checkpoint",
    "assign_from_checkpoint_fn assign_from_values assign_from_values_fn avg_pool2d batch_norm bias_add",
    "clip_gradient_norms convolution2d convolution2d_in_plane convolution2d_transpose create_train_op",
    "current_arg_scope evaluate_once evaluation_loop filter_variables fully_connected get_local_variables",
    "get_model_variables get_trainable_variables get_unique_variable get_variables get_variables_by_name",
    "get_variables_by_suffix get_variables_to_restore global_variable has_arg_scope l1_l2_regularizer l1_regularizer",
    "l2_regularizer layer_norm local_variable max_pool2d model_variable multiply_gradients one_hot_encoding",
    "optimize_loss repeat stack sum_regularizer summarize_activation summarize_collection summarize_tensor unit_norm",
    "variance_scaling_initializer wait_for_new_checkpoint xavier_initializer",
    // Others that its users asked for
    "Print add_check_numerics_ops compute_gradients apply_gradients ctc_loss custom_gradient dynamic_rnn",
    "get_regularization_loss make_template map_fn partial_run sampled_softmax_loss"};

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!(at > 0 && is_part(at - 1)) && !is_part(at + word.size())) return true;
  return false;
}

TEST(ComingFromTf1, ThePageHasEachPublicName) {
  const std::string page = runtime::read_source("docs/guide/coming-from-tf1.md");
  std::size_t names = 0;
  for (const char* line : kNamesOfTensorFlow) {
    std::istringstream words(line);
    for (std::string name; words >> name; ++names) EXPECT_TRUE(has_word(page, name)) << name;
  }
  EXPECT_GT(names, 300u);
}

// Each row has the name's replacement, or the reason why there is none.
TEST(ComingFromTf1, WhatIsNotHereHasAReason) {
  for (const runtime::PageSection& section :
       runtime::sections_of(runtime::read_source("docs/guide/coming-from-tf1.md")))
    for (const runtime::Row& row : section.rows) {
      ASSERT_EQ(row.size(), 2u) << row.at(0);
      EXPECT_FALSE(row[1].empty()) << row[0];
      if (row[1].find("not here") == std::string::npos) continue;
      EXPECT_EQ(row[1].find("not here, because "), 0u) << row[0];
    }
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
