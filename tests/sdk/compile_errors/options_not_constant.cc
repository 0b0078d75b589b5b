// SPDX-License-Identifier: Apache-2.0
// expect: belay: the members of Options have defaults that the compiler can compute: belay::Str, not std::string;
// belay::List, not std::vector
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    int number = 1;
    std::string made;
  };
  static constexpr auto about =
      belay::about("bad", "Its Options are made when it runs", belay::option("number", &Options::number, "a number"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
