// SPDX-License-Identifier: Apache-2.0
// A hook in a synthetic training. It has the names of every model, variables with gradients, and values that fall and
// waver.
//
//   SyntheticTraining training(subject);
//   training.start();                       // begin, after_create_session
//   training.steps(10);
//   training.hook().save();                 // whatever HookDriver can do
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belay/testing/hook_driver.h"
#include "belay/testing/temporary_folder.h"
#include "runtime/validate/check.h"

namespace belay::runtime {

// Describes its content, for messages.
inline constexpr const char* kSyntheticModel =
    "the synthetic model (loss, accuracy, learning_rate, global_step, dense/kernel, dense/bias)";

// The shapes of the hook's watched values.
struct TrainingShape {
  Dims loss = {};
  Dims kernel = {2, 3}, bias = {3};
};

class SyntheticTraining {
 public:
  using Folder = std::shared_ptr<const belay::testing::TemporaryFolder>;

  // Makes the hook, in a host without the services `without`. `folder` is the run directory.
  explicit SyntheticTraining(const Subject& subject, const std::vector<std::string>& without = {},
                             Folder folder = std::make_shared<const belay::testing::TemporaryFolder>(),
                             TrainingShape shape = {});

  belay::testing::HookDriver& hook() { return *hook_; }
  // Returns the run directory, for another attempt of the same run.
  const Folder& folder() const { return folder_; }
  // Calls begin, and sets a value for each output that the hook added.
  void begin();
  void start();
  // Returns the values of the next step.
  belay::testing::HookDriver::Values values(float loss);
  // Makes a step with a falling, slightly wavering loss.
  void step();
  void steps(int n);

 private:
  void add_best_checkpoint();
  void add_variable(const std::string& name, const Dims& dims);

  const TrainingShape shape_;
  Folder folder_;
  std::unique_ptr<belay::testing::HookDriver> hook_;
  std::uint64_t random_;
  int steps_ = 0;
};

}  // namespace belay::runtime
