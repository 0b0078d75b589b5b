// SPDX-License-Identifier: Apache-2.0
// Compiles: every call that refines an option.
#include <belay/plugin.h>

namespace {

class Good final : public belay::Hook {
 public:
  struct Options {
    belay::Table layers;
    std::int64_t n = 1;
    float f = 0.5f;
    std::optional<bool> maybe;
    belay::List<belay::Str> names;
    belay::List<belay::Path> files;
  };
  static constexpr auto about = belay::about(
      "good", "Has options",
      belay::option("layers", &Options::layers, "a list").required().example("[{ type = \"a\" }]"),
      belay::option<belay::Str>("layers[].type", "what").choices("a", "b").required(),
      belay::option<double>("layers[].rate", "a rate").range(0, 1).by_default(0.5).example(0.1).when("type", "a"),
      belay::option<belay::List<std::int64_t>>("layers[].rate", "sizes").or_single().min(1).when("type", "b"),
      belay::option<bool>("layers[].deep.*.flag", "a flag").watching(),
      belay::option("n", &Options::n, "a number").min(1).example(5).watching(),
      belay::option("f", &Options::f, "a number").example(0.3),
      belay::option("maybe", &Options::maybe, "a boolean").example(true),
      belay::option("names", &Options::names, "names").example("x", "y"),
      belay::option("files", &Options::files, "files").example_file("a.bin", "a\0\x93"));
  explicit Good(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Good)
