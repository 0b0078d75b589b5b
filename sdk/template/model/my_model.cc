// One hidden layer. The head makes a classifier if the label is an integer, and a regression if it is a fraction.
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>

namespace {

class MyModel final : public belay::Model {
 public:
  struct Options {
    std::int64_t hidden = 32;
    std::int64_t classes = 0;
  };
  static constexpr auto about =
      belay::about("my_model", "A perceptron with one hidden layer",
                   belay::option("hidden", &Options::hidden, "number of units of the hidden layer").range(1, 1e6),
                   belay::option("classes", &Options::classes,
                                 "number of classes of an integer label; 0 means as the input declares")
                       .range(0, 1e9));

  explicit MyModel(const Options& options) : options_(options) {}

  // Called once per graph: training, evaluation and prediction have their own. The host adds the training operation.
  void build(belay::ModelContext& model) override {
    const belay::Output x = belay::feature_matrix(model);
    belay::ops::DenseOptions hidden, last;
    hidden.name = "hidden";
    last.name = "last";
    const belay::Output h = belay::ops::relu(belay::ops::dense(x, options_.hidden, hidden));
    belay::add_head(model, belay::ops::dense(h, belay::head_units(model, "auto", options_.classes), last), "auto");
  }

 private:
  const Options options_;
};

}  // namespace

BELAY_MODULE("0.1.0", MyModel)
