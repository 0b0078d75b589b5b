// SPDX-License-Identifier: Apache-2.0
#include <belay/hooks/history.h>
#include <belay/output_file.h>
#include <belay/plugin.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using belay::Code;
using json = nlohmann::ordered_json;

class History final : public belay::History {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    std::int64_t every_n_steps = 1;
    std::int64_t capacity = kDefaultCapacity;
    belay::Str output_file = "history.json";
  };
  static constexpr auto about = belay::about(
      "history", "Keeps scalars of the whole training in memory, and writes them into a JSON file when the run ends",
      belay::option("tensors", &Options::tensors, "scalars to keep").required().example("loss").watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the values that are kept, in steps")
          .min(1)
          .watching(),
      belay::option(
          "capacity", &Options::capacity,
          "maximum of points per scalar; at this number, every second point is dropped and the period doubles")
          .range(2, 1e7)
          .watching(),
      belay::option("output_file", &Options::output_file,
                    "name of the file in the run directory; if empty, no file is written")
          .watching());

  explicit History(const Options& o)
      : belay::History(texts(o.tensors), o.every_n_steps, o.capacity), output_file_(o.output_file) {
    belay::check_file_name("output_file", output_file_);
    for (const std::string& name : names())
      if (name == kStepKey) belay::fail(Code::kInvalidArgument, "'global_step' is in the file without being asked for");
  }

  void end(belay::Session&) override { write(); }
  // The steps before the error are the ones that a user wants to see.
  void on_error(const belay::Error&) override { write(); }

 private:
  static constexpr const char* kStepKey = "global_step";

  static std::vector<std::string> texts(const belay::List<belay::Str>& names) {
    std::vector<std::string> texts;
    for (const belay::Str& name : names) texts.emplace_back(name);
    return texts;
  }
  static json number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";  // JSON has no numbers for these
  }

  void write() const {
    if (output_file_.empty() || host().run_directory().empty()) return;
    json content{{kStepKey, steps()}};
    for (const std::string& name : names()) {
      json column = json::array();
      for (const double value : values(name)) column.push_back(number(value));
      content[name] = std::move(column);
    }
    bool warned = false;
    belay::replace_or_warn(host(), host().run_directory() + "/" + output_file_,
                           content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", warned);
  }

  const std::string output_file_;
};

}  // namespace

BELAY_MODULE("1.0.0", History)
