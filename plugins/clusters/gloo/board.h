// SPDX-License-Identifier: Apache-2.0
// The board on which ranks leave their addresses for each other, by names.
#pragma once

#include <string>

namespace belay_gloo {

// The board of one meeting. A rank puts the values that the others look for, each name once. Use it from one thread.
class Board {
 public:
  Board() = default;
  virtual ~Board() = default;
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Writes the value. Others see all of it or nothing.
  virtual void put(const std::string& name, const std::string& value) = 0;
  // Returns the value of a name. Empty: no rank has set it.
  virtual std::string get(const std::string& name) = 0;
  // Called while this rank waits for others. Throws if waiting makes no sense any more.
  virtual void look() {}
  // Called when all ranks have met, or when this one leaves.
  virtual void forget() noexcept {}
};

}  // namespace belay_gloo
