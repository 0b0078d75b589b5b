// SPDX-License-Identifier: Apache-2.0
// The models of the examples, with the options that their manifests have for training, build for prediction: without
// labels, from variables that a checkpoint of the training holds. wine_npy is not among them: its file is the user's,
// its model iris's.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "belay/ops/control.h"
#include "plugins/default_plugins.h"
#include "runtime/data/input_feed.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/parse.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "tests/monitored/monitored_fixture.h"

extern "C" const belay_module belay_module_autoencoder, belay_module_cnn, belay_module_linear, belay_module_lstm,
    belay_module_mlp, belay_module_resnet, belay_module_sequential, belay_module_transformer, belay_module_csv,
    belay_module_digits, belay_module_idx, belay_module_text, belay_module_tfrecord, belay_module_mish;

namespace belay::runtime::testing {
namespace {

class ExampleModel : public MonitoredTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ExampleModel() {
    for (const belay_module* module : default_plugins()) registry.add_linked(module);
    for (const belay_module* module :
         {&belay_module_autoencoder, &belay_module_cnn, &belay_module_linear, &belay_module_lstm, &belay_module_mlp,
          &belay_module_resnet, &belay_module_sequential, &belay_module_transformer, &belay_module_csv,
          &belay_module_digits, &belay_module_idx, &belay_module_text, &belay_module_tfrecord, &belay_module_mish})
      registry.add_linked(module);
    for (const RegisteredPlugin& p : registry.plugins()) {
      ResolvedPlugin use;
      use.instance_name = p.info.name;
      if (p.info.kind == PluginKind::kOp) add_plugin_op(*ops, instances.create(p, use, services, monitor));
    }
  }
  void resolve(const std::string& path, const std::string& text) {
    Diagnostics problems;
    const Environment variables = process_environment();
    const std::optional<Manifest> manifest = parse_manifest({path, text}, {}, variables, problems);
    ASSERT_TRUE(manifest) << problems.text();
    FilePolicy policy;
    const CpuFeatures cpu;
    const PluginSearch no_files({}, policy, cpu);
    PluginResolver resolver(registry, no_files, policy, cpu, {manifest->directories, variables}, problems);
    const ResolvedPlugins resolved = resolver.resolve(*manifest);
    ASSERT_TRUE(problems.empty()) << problems.text();
    model = &create(*resolved.model);
    components = InputFeed::declaration_of(create(resolved.inputs.at("train")), {});
  }
  PluginInstance& create(const ResolvedPlugin& plugin) {
    return instances.create(*registry.find(plugin.info.kind, plugin.info.name, ""), plugin, services, monitor);
  }
  // The variables of the model in this mode: "name float32 [3, 4]".
  std::set<std::string> build(Mode mode) {
    NodeGraph built(*ops);
    std::vector<NamedOutput> features, labels;
    for (const InputComponent& c : components) {
      if (c.label && mode == Mode::kPredict) continue;
      const Output o = ops::placeholder(built.handle(), c.dtype, c.dims, c.name);
      (c.label ? labels : features).push_back({c.name, o, c.classes});
    }
    outputs = build_model(*model, built, mode, features, labels, declared_labels(components));
    names.clear();
    for (const NamedOutput& p : outputs.predictions) names.push_back(p.name);
    built.finalize();
    std::set<std::string> all;
    const auto session =
        std::make_shared<DirectSession>(built, std::make_shared<VariableStore>(), DirectSessionOptions{});
    for (const VariableInfo& v : session->handle().variables())
      all.insert(v.name + " " + dtype_name(v.dtype) + " " + dims_text(v.dims));
    return all;
  }

  PluginInstance* model = nullptr;
  std::vector<InputComponent> components;
  ModelOutputs outputs;
  std::vector<std::string> names;
};

TEST_P(ExampleModel, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const std::string path = std::string(BELAY_SOURCE_DIR "/examples/") + GetParam() + ".toml";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  for (const char* variable : {"BELAY_DATA_DIR", "BELAY_SAMPLES_DIR"}) {
    const char* folder = std::getenv(variable);
    if (text.str().find(std::string("${") + variable) != std::string::npos &&
        (folder == nullptr || !std::filesystem::is_directory(folder)))
      GTEST_SKIP() << "NOT TESTED: " << variable << " does not name the folder of the example's data";
  }
  ASSERT_NO_FATAL_FAILURE(resolve(path, text.str()));

  const std::set<std::string> training = build(Mode::kTrain);
  const std::vector<std::string> predictions = names;
  for (const Mode mode : {Mode::kEval, Mode::kPredict}) {
    EXPECT_EQ(build(mode), training);
    EXPECT_EQ(names, predictions);
  }
  EXPECT_FALSE(predictions.empty());
  EXPECT_TRUE(outputs.metrics.empty());
  EXPECT_FALSE(outputs.loss);
}

INSTANTIATE_TEST_SUITE_P(, ExampleModel,
                         ::testing::Values("digits", "digits_autoencoder", "digits_mish", "digits_sequential", "iris",
                                           "mnist_cnn", "mnist_mlp", "mnist_resnet", "penguins", "petal_width",
                                           "shakespeare_lstm", "shakespeare_transformer"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace belay::runtime::testing
