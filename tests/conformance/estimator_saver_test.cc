// SPDX-License-Identifier: Apache-2.0
// An Estimator whose saver is the program's own.
#include <filesystem>

#include "belay/plugin.h"
#include "tests/estimator/estimator_fixture.h"

namespace {

int parchments_read = 0;

// All tensors in one file, one after the other: length of the name, name, dtype, rank, dimensions, elements.
class Parchment final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("parchment", "One file of tensors, for a test");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    belay::File file = directory.create("parchment");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, tensor] = tensors.get(i);
      const belay::Dims dims = tensor.dims();
      const std::int64_t head[] = {static_cast<std::int64_t>(name.size()), static_cast<std::int64_t>(tensor.dtype()),
                                   static_cast<std::int64_t>(dims.size())};
      file.write(head, sizeof(head));
      file.write(name.data(), name.size());
      file.write(dims.data(), dims.size() * sizeof(std::int64_t));
      file.write(tensor.data(), tensor.bytes());
    }
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    ++parchments_read;
    const belay::File file = directory.open("parchment");
    std::uint64_t at = 0;
    const auto take = [&](void* data, std::uint64_t bytes) {
      file.read_at(at, data, bytes);
      at += bytes;
    };
    while (at < file.size()) {
      std::int64_t head[3];
      take(head, sizeof(head));
      std::string name(static_cast<std::size_t>(head[0]), ' ');
      take(name.data(), name.size());
      belay::Dims dims(static_cast<std::size_t>(head[2]));
      take(dims.data(), dims.size() * sizeof(std::int64_t));
      std::uint64_t bytes = belay::dtype_size(static_cast<belay::DType>(head[1]));
      for (const std::int64_t d : dims) bytes *= static_cast<std::uint64_t>(d);
      if (void* data = tensors.found(name, static_cast<belay::DType>(head[1]), dims)) {
        take(data, bytes);
      } else {
        at += bytes;
      }
    }
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Parchment)

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

class EstimatorSaves : public EstimatorTest {};

TEST_F(EstimatorSaves, EST_10_TheProgramsOwnSaverWritesAndRestoresInEachCall) {
  EstimatorSetup o = options();
  o.plugins.push_back(&belay_module_v0);
  o.saver = "parchment";
  parchments_read = 0;
  Estimator estimator([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 42, 3)); }, o);
  estimator.train(one, {.steps = 2});
  EXPECT_TRUE(std::filesystem::exists(temp / "model/model.ckpt-2/parchment"));
  EXPECT_EQ(parchments_read, 1);  // the first save of a training is read back

  // The model's initial values are others now: 42 is what was restored.
  Estimator again(counting, o);
  EXPECT_EQ(number(again.evaluate(one, {.steps = 1}), "loss"), 42);
  EXPECT_EQ(parchments_read, 2);
  EXPECT_EQ(again.predict(one).next()->value().data<float>()[0], 85);
  EXPECT_EQ(parchments_read, 3);
  again.train(one, {.steps = 1});
  EXPECT_EQ(parchments_read, 5);
  EXPECT_EQ(TensorView(again.variable_value("one")).scalar<float>(), 42);
}

TEST_F(EstimatorSaves, WARM_06_AWarmStartIsReadByTheSaverThatWroteIt) {
  EstimatorSetup o = options();
  o.plugins.push_back(&belay_module_v0);
  o.saver = "parchment";
  Estimator([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 42, 3)); }, o).train(one, {.steps = 1});

  EstimatorSetup other = options();
  other.model_dir = temp / "second";
  other.warm_start_from = warm_start(temp / "model");
  const ModelFn model = [](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 36, 3)); };
  EXPECT_THAT(error_of([&] { Estimator(model, other).train(one, {.steps = 1}); }),
              HasSubstr("was written by the saver 'parchment': [B2039] there is no saver \"parchment\""));
  other.plugins.push_back(&belay_module_v0);
  Estimator second(model, other);
  second.train(one, {.steps = 1});
  EXPECT_EQ(TensorView(second.variable_value("one")).scalar<float>(), 42);
}

}  // namespace
}  // namespace belay::runtime::testing
