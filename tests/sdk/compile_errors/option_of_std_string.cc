// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option is bool, an integer, a float, belay::Str, belay::Path, belay::List, belay::Table, or
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    std::string text;
  };
  static constexpr auto about =
      belay::about("bad", "Its text is a std::string", belay::option("text", &Options::text, "a text"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
