// SPDX-License-Identifier: Apache-2.0
// A global object that cannot be made.
#include <belay/plugin.h>

#include <stdexcept>

namespace {

struct Table {
  Table() { throw std::runtime_error("no table.bin here"); }
};
const Table table;

class Thrower final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("thrower", "Never gets this far");
};

}  // namespace

BELAY_MODULE("1.0.0", Thrower)
