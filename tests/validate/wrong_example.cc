// SPDX-License-Identifier: Apache-2.0
// Hooks whose examples are not what they take: by the note, and by their constructor.
#include <belay/plugin.h>

namespace {

class ByNote final : public belay::Hook {
 public:
  struct Options {
    belay::Table parts;
  };
  static constexpr auto about =
      belay::about("by_note", "Has an example that its note does not allow",
                   belay::option("parts", &Options::parts, "parts").required().example("[{ kind = \"rond\" }]"),
                   belay::option<belay::Str>("parts[].kind", "its kind").choices("round", "square"));
  explicit ByNote(const Options&) {}
};

class ByConstructor final : public belay::Hook {
 public:
  struct Options {
    belay::Path path;
  };
  static constexpr auto about =
      belay::about("by_constructor", "Has an example that it refuses",
                   belay::option("path", &Options::path, "a file").required().example_file("a/b.txt", "five"));
  explicit ByConstructor(const Options& o) {
    belay::fail(belay::Code::kInvalidArgument, "'" + o.path.string() + "' holds no number");
  }
};

}  // namespace

BELAY_MODULE("1.0.0", ByNote, ByConstructor)
