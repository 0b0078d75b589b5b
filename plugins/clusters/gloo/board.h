// SPDX-License-Identifier: Apache-2.0
// Where ranks leave their addresses for each other, by names.
#pragma once

#include <string>

namespace belay_gloo {

// One meeting's. A rank puts what the others look for, each name once. Of one thread.
class Board {
 public:
  Board() = default;
  virtual ~Board() = default;
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Appears whole.
  virtual void put(const std::string& name, const std::string& value) = 0;
  // Empty: it is not there.
  virtual std::string get(const std::string& name) = 0;
  // Called while this rank waits for others. Throws where that is of no use any more.
  virtual void look() {}
  // All ranks have met, or this one leaves.
  virtual void forget() noexcept {}
};

}  // namespace belay_gloo
