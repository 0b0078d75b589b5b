// SPDX-License-Identifier: Apache-2.0
// std::cout writes into this while main runs. It remembers why a write failed; a stream does not.
#pragma once

#include <array>
#include <streambuf>

namespace belay::runtime {

class StandardOutput final : public std::streambuf {
 public:
  // std::cout writes through it while it lives.
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Writes the rest. Returns the number of the first error of any write; 0: everything arrived.
  int finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  std::array<char, 1 << 16> buffer_;
  std::streambuf* before_;
  int error_ = 0;
};

}  // namespace belay::runtime
