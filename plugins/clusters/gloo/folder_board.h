// SPDX-License-Identifier: Apache-2.0
// A board of files in a folder that all ranks see.
#pragma once

#include <string>

#include "board.h"

namespace belay_gloo {

class FolderBoard final : public Board {
 public:
  // Makes the folder if it is missing. `owner`: the destructor removes it. UNAVAILABLE: it cannot be made.
  FolderBoard(std::string folder, bool owner);
  ~FolderBoard() override;
  void put(const std::string& name, const std::string& value) override;
  std::string get(const std::string& name) override;

 private:
  const std::string folder_;
  const bool owner_;
};

}  // namespace belay_gloo
