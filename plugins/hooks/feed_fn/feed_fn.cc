// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/table_tensor.h>

#include <utility>
#include <vector>

namespace {

class FeedConstants final : public belay::Hook {
 public:
  struct Options {
    belay::Table feeds;
  };
  static constexpr auto about =
      belay::about("feed_fn", "Feeds tensors with fixed values in every run",
                   belay::option("feeds", &Options::feeds,
                                 "table of NAME = VALUE for each tensor to feed; a list holds the elements row by row")
                       .required()
                       .example("{ learning_rate = 0.01 }"));

  explicit FeedConstants(const Options& o) : o_(o) {
    if (o.feeds.empty()) belay::fail(belay::Code::kInvalidArgument, "'feeds' is empty; name what to feed");
  }

  void begin(belay::Graph& graph) override {
    feeds_.clear();
    for (std::size_t i = 0; i < o_.feeds.size(); ++i) {
      const belay::Output output = graph.find(o_.feeds.key(i));
      if (output.is_operation())
        belay::fail(belay::Code::kInvalidArgument,
                    "'" + std::string(o_.feeds.key(i)) + "' is an operation without a value; name a tensor");
      feeds_.emplace_back(output, belay::table_tensor(o_.feeds, i, output));
    }
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    for (const auto& [output, value] : feeds_) args.feed(output, value);
    return args;
  }

 private:
  const Options o_;
  std::vector<std::pair<belay::Output, belay::Tensor>> feeds_;
};

}  // namespace

BELAY_MODULE("1.0.0", FeedConstants)
