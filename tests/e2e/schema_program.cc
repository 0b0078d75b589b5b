// SPDX-License-Identifier: Apache-2.0
// schema_program FOLDERS WAY MODEL_DIR INPUT [TYPE:NAME=VALUE ...]: an Estimator as a program has it, for
// schema_cells.py. FOLDERS of plugins have colons between them; WAY is train, resume, evaluate, experiment or predict;
// the rest are options of the input: s: a text, i: an integer, f: a number, b: true or false, l: texts and j: integers
// with | between them. Status 2: an Error.
#include <belay/runtime/estimator.h>
#include <belay/runtime/experiment.h>
#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "plugins/default_plugins.h"

namespace {

using Options = std::vector<std::pair<std::string, belay::runtime::OptionValue>>;

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, between);) parts.push_back(part);
  return parts;
}

const belay_module* module_of(const std::string& folders, const std::string& plugin) {
  for (const std::string& folder : parts_of(folders, ':')) {
    const std::string file = folder + "/" + plugin + ".so";
    if (!std::filesystem::exists(file)) continue;
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) belay::fail(belay::Code::kNotFound, dlerror());
    return static_cast<const belay_module*>(dlsym(library, "belay_module_v0"));
  }
  belay::fail(belay::Code::kNotFound, "there is no plugin " + plugin);
}

belay::runtime::OptionValue value_of(char type, const std::string& text) {
  switch (type) {
    case 'i': return static_cast<std::int64_t>(std::stoll(text));
    case 'f': return std::stod(text);
    case 'b': return text == "true";
    case 'l': return parts_of(text, '|');
    case 'j': {
      std::vector<std::int64_t> numbers;
      for (const std::string& part : parts_of(text, '|')) numbers.push_back(std::stoll(part));
      return numbers;
    }
    default: return text;
  }
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 5; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t at = word.find('=');
    options.emplace_back(word.substr(2, at - 2), value_of(word[0], word.substr(at + 1)));
  }
  return options;
}

void use(const std::string& folders, const std::string& way, const std::string& directory, const std::string& plugin,
         const Options& options) {
  belay::EstimatorOptions o;
  o.plugins = belay::default_plugins();
  for (const std::string& name : {plugin, std::string("mlp")}) o.plugins.push_back(module_of(folders, name));
  o.model_dir = directory;
  o.params = {{"hidden", std::vector<std::int64_t>{8}}};
  belay::OptimizerSettings optimizer;
  optimizer.name = "adam";
  optimizer.learning_rate.learning_rate = 0.02;
  belay::Estimator estimator(belay::model_plugin("mlp", optimizer), o);
  belay::ExperimentOptions whole;
  whole.eval_steps.reset();
  const belay::InputFn input = belay::input_plugin(plugin, options);
  if (way == "train" || way == "resume") {
    estimator.train(input, {.max_steps = way == "train" ? 300 : 302});
  } else if (way == "evaluate") {
    std::printf("%s\n", belay::eval_metrics_text(estimator.evaluate(input)).c_str());
  } else if (way == "experiment") {
    std::printf("%s\n",
                belay::eval_metrics_text(belay::Experiment(estimator, input, input, whole).evaluate(0)).c_str());
  } else {
    belay::EstimatorPredictions predictions = estimator.predict(input);
    while (const belay::PredictedRow* row = predictions.next()) {
      for (std::size_t i = 0; i < row->names().size(); ++i)
        std::printf("%s %.9g ", row->names()[i].c_str(), row->at(i).number(0));
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 64;
  try {
    use(argv[1], argv[2], argv[3], argv[4], options_of(argc, argv));
    return 0;
  } catch (const belay::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
