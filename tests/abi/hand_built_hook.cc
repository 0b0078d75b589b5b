// SPDX-License-Identifier: Apache-2.0
// A hook as somebody builds it in one line: g++ -std=c++17 -shared -fPIC hand_built_hook.cc -o hand_built_hook.so
#include <belay/plugin.h>

#include <functional>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>

namespace {

class HandBuilt final : public belay::Hook {
 public:
  struct Options {
    double max = 10;
    belay::Str pattern = "lo+ss";
  };
  static constexpr auto about = belay::about("hand_built", "Built without any build system",
                                             belay::option("max", &Options::max, "a limit").min(0),
                                             belay::option("pattern", &Options::pattern, "a regular expression"));
  explicit HandBuilt(const Options& o)
      : matches_([pattern = std::make_shared<std::regex>(o.pattern.string())](const std::string& text) {
          return std::regex_match(text, *pattern);
        }) {
    host().info("max " + std::to_string(o.max));
  }
  void end(belay::Session&) override {
    if (!matches_("looooss")) throw std::runtime_error("no match");
    throw std::out_of_range("thrown on purpose");
  }

 private:
  std::function<bool(const std::string&)> matches_;
};

}  // namespace

BELAY_MODULE("0.0.1", HandBuilt)
