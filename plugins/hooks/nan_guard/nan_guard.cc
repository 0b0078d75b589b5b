// SPDX-License-Identifier: Apache-2.0
// Fails a step if a gradient is not finite, or a weight that it begins with. The checks are part of the run, and a
// failed run changes no variable. So nothing is written.
#include <belay/eigen.h>
#include <belay/ops/control.h>
#include <belay/ops/math.h>
#include <belay/ops/reductions.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using belay::Code;
using belay::DType;
using belay::Output;
namespace collections = belay::collections;

template <class T>
bool all_finite(const belay::Tensor& tensor) {
  const auto elements = belay::eigen_array<const T>(tensor);
  if constexpr (std::is_floating_point_v<T>)
    return elements.isFinite().all();
  else  // a type of 16 bits
    return elements.template cast<float>().isFinite().all();
}

bool all_finite(const belay::Checkpoint& checkpoint, const belay::Checkpoint::Entry& entry) {
  switch (entry.dtype) {
    case DType::kFloat32: return all_finite<float>(checkpoint.read(entry.name));
    case DType::kFloat64: return all_finite<double>(checkpoint.read(entry.name));
    case DType::kBFloat16: return all_finite<Eigen::bfloat16>(checkpoint.read(entry.name));
    case DType::kFloat16: return all_finite<Eigen::half>(checkpoint.read(entry.name));
    default: return true;
  }
}

class NanGuard final : public belay::Hook {
 public:
  struct Options {
    bool gradients = true;
    bool weights = true;
    std::int64_t every_n_steps = 1;
  };
  static constexpr auto about = belay::about(
      "nan_guard", "Fails the run before a gradient that is NaN or infinite is applied, and names its variable",
      belay::option("gradients", &Options::gradients, "true: checks the gradients of the step").watching(),
      belay::option("weights", &Options::weights, "true: checks the trained variables as they are before the step")
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the checks, in runs of the session")
          .min(1)
          .watching());

  explicit NanGuard(const Options& o) : o_(o) {
    if (!o.gradients && !o.weights)
      belay::fail(Code::kInvalidArgument, "nothing to check: leave 'gradients' or 'weights' true");
  }

  void begin(belay::Graph& graph) override {
    if (const Output made = graph.find_if_exists(kSum)) {  // a second session on this graph
      checked_ = graph.fetch(made);
      return;
    }
    std::vector<Output> checks;
    if (o_.weights)
      for (const Output& variable : graph.collection(collections::kTrainableVariables))
        add_check(variable, "the norm of '" + graph.node_name_of(variable) + "', as the step found it", checks);
    if (o_.gradients) add_gradients(graph, checks);
    if (checks.empty())
      belay::fail(Code::kFailedPrecondition, "the graph has no trainable variables of floating-point numbers");
    checked_ = graph.fetch(graph.node("AddN", kSum).in(checks).output());
  }

  belay::RunArgs before_run(belay::RunContext& run) override {
    if ((run.number() - 1) % o_.every_n_steps != 0) return {};
    return {checked_};
  }

  void on_error(const belay::Error& error) override {
    if (error.code() != Code::kDiverged) return;
    if (std::string_view(error.what()).find("infinite") != std::string_view::npos)
      host().error(
          "a norm is infinite if an element is, or if an element is too large to be squared (above 1.8e19 in "
          "float32)");
    const std::string path = last_finite_checkpoint();
    host().error(path.empty() ? std::string("there is no checkpoint to go back to")
                              : "the last checkpoint that is finite is '" + path +
                                    "'; lower the learning rate or clip the gradients (optimizer.clip_norm) before "
                                    "the next start");
  }

 private:
  static constexpr const char* kSum = "nan_guard/all";

  static bool is_checked(const Output& o) { return o.dtype() == DType::kFloat32 || o.dtype() == DType::kFloat64; }
  // Adds a scalar for each tensor: its norm, which is not finite if an element is not.
  static void add_check(const Output& tensor, const std::string& what, std::vector<Output>& checks) {
    if (!is_checked(tensor)) return;
    const auto scope = tensor.graph().scope("nan_guard");
    const Output norm = belay::ops::check_numerics(belay::ops::global_norm({tensor}), what);
    checks.push_back(norm.dtype() == DType::kFloat32 ? norm : belay::ops::cast(norm, DType::kFloat32));
  }
  static void add_gradients(const belay::Graph& graph, std::vector<Output>& checks) {
    const std::vector<Output> gradients = graph.collection(collections::kGradients);
    const std::vector<Output> variables = graph.collection(collections::kGradientVariables);
    if (gradients.empty() || gradients.size() != variables.size())
      belay::fail(Code::kFailedPrecondition,
                  "the graph has no gradients: [optimizer] puts them into the collections 'gradients' and "
                  "'gradient_variables'; set gradients = false to check the weights alone");
    for (std::size_t i = 0; i < gradients.size(); ++i)
      add_check(gradients[i],
                "the norm of the gradient of '" + graph.node_name_of(variables[i]) + "', before it was applied",
                checks);
  }

  // Looks at the newest first. With checkpoint.refuse_non_finite = false a run may have saved values that are not
  // finite.
  std::string last_finite_checkpoint() const {
    std::string newest = host().run_directory().empty() ? "" : latest(host().run_directory());
    if (newest.empty() || is_finite(newest)) return newest;
    std::vector<std::filesystem::path> older;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(host().run_directory(), failed))
      if (entry.is_directory(failed) && entry.path().filename().string().rfind("model.ckpt-", 0) == 0)
        older.push_back(entry.path());
    std::sort(older.begin(), older.end(), [](const auto& a, const auto& b) { return step_of(a) > step_of(b); });
    for (const auto& path : older)
      if (is_finite(path.string())) return path.string();
    return "";
  }
  std::string latest(const std::string& directory) const {
    try {
      return belay::latest_checkpoint(host(), directory);
    } catch (const belay::Error& e) {
      host().warning(std::string("the newest checkpoint cannot be found: ") + e.what());
      return "";
    }
  }
  static std::int64_t step_of(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return std::strtoll(name.c_str() + name.rfind('-') + 1, nullptr, 10);
  }
  bool is_finite(const std::string& path) const {
    try {
      const belay::Checkpoint checkpoint(host(), path);
      const auto& entries = checkpoint.entries();
      return std::all_of(entries.begin(), entries.end(),
                         [&](const auto& entry) { return all_finite(checkpoint, entry); });
    } catch (const belay::Error&) {
      return false;  // an unreadable checkpoint cannot be restored
    }
  }

  const Options o_;
  Output checked_;
};

}  // namespace

BELAY_MODULE("1.0.0", NanGuard)
