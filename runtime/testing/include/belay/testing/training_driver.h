// SPDX-License-Identifier: Apache-2.0
// A hook in a real training: a small model on the real engine under a real monitored session, for tests that want real
// losses, gradients and variables. Link belay::testing_runtime; the header itself needs the SDK only.
//
//   TrainingDriver training(belay_module_early_stopping, {{"patience", 2}, {"every_n_steps", 1}});
//   training.run(500);
//   EXPECT_TRUE(training.stopped());
//   EXPECT_LT(training.loss(), 1e-3);
//   training.end();
//
// The model fits y = 3 x + 2 with float32 variables "weight" and "bias" on batches of 64 that follow from the seed, by
// gradient descent. Roles: "loss", "learning_rate", "train_op". The run directory is a temporary folder. Steps take no
// time unless seconds_per_step says so. What a hook throws comes out of start, run and end as belay::Error that names
// it. One thread.
//
// Checkpoints are written where a hook asks for one, and by save(). Their tensors stay in memory unless saver() names a
// saver's module. A training that is stopped and goes on from its checkpoint, beside one that was never stopped:
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

  // The hook under test; `plugin` names it where the module has several.
  explicit TrainingDriver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  ~TrainingDriver();
  TrainingDriver(const TrainingDriver&) = delete;
  TrainingDriver& operator=(const TrainingDriver&) = delete;

  // Before the first step.
  // One more hook, called after those that are there. Their instance names are those of the plugins,
  // and the operations of their libraries are in the graph's registry.
  void add_hook(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  void learning_rate(double rate);        // 0.1
  void seconds_per_step(double seconds);  // 0: the clock does not move
  void seed(std::uint64_t seed);          // 42
  // Writes checkpoints into the run directory by this saver.
  void saver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});

  // begin and after_create_session of each hook. The first run does it where the test does not.
  void start();
  // At most so many steps; fewer if a hook stops. Returns how many were made.
  std::int64_t run(std::int64_t steps);
  // The normal end: `end` of each hook.
  void end();
  // A checkpoint of the step that was made last, between two steps.
  void save();
  // As if the process had been killed, or has ended, and is started again: new instances of all hooks with the same
  // options, and what the newest checkpoint holds; where there is none, the beginning. The log and the event files go
  // on.
  void restart();

  bool stopped();                  // somebody asked to stop
  std::string stop_reason();       // "early_stopping: ..."; after end
  std::int64_t step() const;       // the global step
  double loss() const;             // of the last step
  std::string checkpoint() const;  // path of the newest that was written or restored; empty: none
  // A variable between two steps, by its node's name.
  Tensor variable(const std::string& name) const;
  void set_variable(const std::string& name, const Tensor& value);

  // Lines of the log, without time: "info early_stopping: ...".
  std::vector<std::string> logged() const;
  // The event file's scalars of this tag; all of them without one.
  std::vector<Scalar> scalars(const std::string& tag = {});
  const std::string& run_directory() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
