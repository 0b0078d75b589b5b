// SPDX-License-Identifier: Apache-2.0
// A saver that keeps tensors in memory, for checkpoints of a test. Its file in a checkpoint identifies them.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "belay/tensor.h"
#include "runtime/checkpoint/format/saver_tensors.h"

namespace belay::runtime {

class MemorySaver {
 public:
  MemorySaver() = default;
  MemorySaver(const MemorySaver&) = delete;
  MemorySaver& operator=(const MemorySaver&) = delete;
  // Borrows this.
  SaverUse use();

 private:
  void write(belay_dir* directory, belay_tensors* tensors);
  void read(belay_dir* directory, belay_tensors* tensors) const;

  std::deque<std::map<std::string, Tensor>> written_;  // also those of checkpoints that retention removed
};

}  // namespace belay::runtime
