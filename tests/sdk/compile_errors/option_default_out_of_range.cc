// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option's default breaks its own range or choices; a std::optional may stay unset
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    std::int64_t every = 0;
  };
  static constexpr auto about = belay::about("bad", "Its default is refused in a manifest",
                                             belay::option("every", &Options::every, "steps").min(1));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
