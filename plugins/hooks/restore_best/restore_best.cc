// SPDX-License-Identifier: Apache-2.0
#include <belay/checkpoint.h>
#include <belay/plugin.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace {

using belay::Code;

class RestoreBest final : public belay::Hook {
 public:
  static constexpr auto about =
      belay::about("restore_best", "Ends a training with the weights of its best evaluation instead of the last ones");

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    step_name_ = graph.node_name_of(graph.global_step_if_exists());
  }

  // The error comes now, and not at the end, when the user cannot help any more.
  void after_create_session(belay::Session&) override {
    std::error_code failed;
    if (!host().run_directory().empty() && std::filesystem::exists(best_path(), failed)) return;
    belay::fail(Code::kFailedPrecondition,
                "restore_best has nothing to restore: give the run a directory (run.dir) and set [checkpoint] "
                "keep_best = 1");
  }

  // A signal and --max-time end an attempt, not the training. The next attempt continues with the current weights.
  void end(belay::Session& session) override {
    if (host().stopping()) {
      host().info("the weights stay those of step " + std::to_string(step_.read(session)) +
                  ", and the next start continues with them; the best ones are restored when the training ends");
      return;
    }
    const std::optional<belay::Checkpoint> best = open_best();
    if (!best) return;
    const std::int64_t best_step = belay::TensorView(best->read(step_name_).view()).scalar<std::int64_t>();
    const std::int64_t step = step_.read(session);
    if (best_step == step) {
      host().info("the last step, " + std::to_string(step) + ", is the best one");
      return;
    }
    for (const belay::VariableInfo& variable : session.variables())
      if (variable.name != step_name_) session.assign(variable.name, best->read(variable.name));
    host().info("the weights are now those of step " + std::to_string(best_step) + ", the best evaluation; step " +
                std::to_string(step) + " is saved with them");
    belay::save_checkpoint(host());
  }

 private:
  std::string best_path() const { return host().run_directory() + "/best"; }

  // If the best checkpoint is lost, the training is not.
  std::optional<belay::Checkpoint> open_best() const {
    try {
      return belay::Checkpoint(host(), best_path());
    } catch (const belay::Error& e) {
      host().warning(std::string("the weights stay those of the last step: ") + e.what());
      return std::nullopt;
    }
  }

  belay::GlobalStep step_;
  std::string step_name_;
};

}  // namespace

BELAY_MODULE("1.0.0", RestoreBest)
