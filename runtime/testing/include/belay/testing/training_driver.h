// SPDX-License-Identifier: Apache-2.0
// A hook in a real training: a small model on the real engine in a real monitored session, for tests with real losses,
// gradients and variables. Link belay::testing_runtime; this header needs only the SDK.
//
//   TrainingDriver training(belay_module_early_stopping, {{"patience", 2}, {"every_n_steps", 1}});
//   training.run(500);
//   EXPECT_TRUE(training.stopped());
//   EXPECT_LT(training.loss(), 1e-3);
//   training.end();
//
// The model fits y = 3 x + 2 by gradient descent, with float32 variables "weight" and "bias". Batches of 64 depend only
// on the seed. Roles: "loss", "learning_rate", "train_op". The run directory is a temporary folder. Steps take no time
// unless seconds_per_step is set. A hook's error is thrown by start, run and end as belay::Error with its name. Use it
// from one thread.
//
// Hooks may ask for checkpoints, and save() writes one. Their tensors stay in memory unless saver() names a saver's
// module. A test may compare a training that stops and continues from its checkpoint with one that never stops:
//
//   training.run(7);
//   training.save();
//   training.run(2);      // lost
//   training.restart();
//   training.run(13);
//   EXPECT_EQ(training.variable("weight").data<float>()[0], whole.variable("weight").data<float>()[0]);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belay/hook.h"
#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

class TrainingDriver {
 public:
  struct Scalar {
    std::string tag;
    std::int64_t step;
    double value;
  };

  // Takes the hook under test. `plugin` selects it if the module has several.
  explicit TrainingDriver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  ~TrainingDriver();
  TrainingDriver(const TrainingDriver&) = delete;
  TrainingDriver& operator=(const TrainingDriver&) = delete;

  // Call these before the first step. add_hook adds another hook, called after the existing ones. Instances have the
  // names of their plugins. The operations of their libraries are in the graph's registry.
  void add_hook(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  void learning_rate(double rate);        // 0.1
  void seconds_per_step(double seconds);  // 0: the clock does not move
  void seed(std::uint64_t seed);          // 42
  // Writes checkpoints into the run directory with this saver.
  void saver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});

  // Calls begin and after_create_session of each hook. The first run does it if the test does not.
  void start();
  // Makes at most this number of steps; fewer if a hook stops. Returns the number of steps.
  std::int64_t run(std::int64_t steps);
  // Ends normally: calls `end` of each hook.
  void end();
  // Saves a checkpoint of the last step, between two steps.
  void save();
  // Starts again as after a kill or an end of the process. All hooks get new instances with the same options, and the
  // content of the newest checkpoint. Without a checkpoint it begins anew. The log and the event files continue.
  void restart();

  bool stopped();                  // somebody asked to stop
  std::string stop_reason();       // "early_stopping: ..."; after end
  std::int64_t step() const;       // the global step
  double loss() const;             // of the last step
  std::string checkpoint() const;  // path of the newest checkpoint that was written or restored; empty: none
  // Gets or sets a variable between two steps, by its node's name.
  Tensor variable(const std::string& name) const;
  void set_variable(const std::string& name, const Tensor& value);

  // Returns lines of the log without time: "info early_stopping: ...".
  std::vector<std::string> logged() const;
  // Returns the event file's scalars with this tag; without one, all of them.
  std::vector<Scalar> scalars(const std::string& tag = {});
  const std::string& run_directory() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
