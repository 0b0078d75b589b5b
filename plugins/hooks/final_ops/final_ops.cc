// SPDX-License-Identifier: Apache-2.0
#include <belay/hooks/final_ops.h>
#include <belay/output_file.h>
#include <belay/plugin.h>
#include <belay/table_tensor.h>
#include <belay/tensor_text.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../tensor_json.h"

namespace {

using nlohmann::json;

class FinalOps final : public belay::FinalOps {
 public:
  struct Options {
    belay::List<belay::Str> ops;
    belay::Table feeds;
    belay::Str output_file = "final_ops.json";
  };
  static constexpr auto about = belay::about(
      "final_ops", "Runs operations once when the run ends, logs their values, and writes them into a JSON file",
      belay::option("ops", &Options::ops, "names of the tensors or operations to run; if empty, nothing happens")
          .example("loss"),
      belay::option("feeds", &Options::feeds,
                    "table of NAME = VALUE for each tensor to feed in that run; a list holds the elements row by row"),
      belay::option("output_file", &Options::output_file,
                    "name of the file in the run directory; if empty, no file is written")
          .watching());

  explicit FinalOps(const Options& o) : o_(o) { belay::check_file_name("output_file", o.output_file.view()); }

  void begin(belay::Graph& graph) override {
    std::vector<belay::Output> ops;
    Feeds feeds;
    for (const belay::Str& name : o_.ops) ops.push_back(graph.find(name));
    for (std::size_t i = 0; i < o_.feeds.size(); ++i) {
      const belay::Output output = graph.find(o_.feeds.key(i));
      feeds.emplace_back(output, belay::table_tensor(o_.feeds, i, output));
    }
    set_ops(std::move(ops), std::move(feeds));
  }

  void end(belay::Session& session) override {
    belay::FinalOps::end(session);
    if (values().empty()) return;
    json content = json::object();
    for (std::size_t i = 0; i < values().size(); ++i) {
      if (values()[i].dtype() == belay::DType::kInvalid) continue;  // an operation has no value
      const belay::TensorView value = values()[i];
      host().info(o_.ops[i].string() + " = " + belay::tensor_text(value));
      std::size_t next = 0;
      content[o_.ops[i].string()] = json_of_tensor(value, 0, next);
    }
    if (!content.empty() && !o_.output_file.empty() && !host().run_directory().empty())
      write(host().run_directory() + "/" + o_.output_file.string(),
            content.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  }

 private:
  void write(const std::string& path, const std::string& text) const {
    bool warned = false;
    belay::replace_or_warn(host(), path, text, warned);
  }

  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", FinalOps)
