// SPDX-License-Identifier: Apache-2.0
#include <belay/class_options.h>
#include <belay/plugin.h>
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

class Labelled final : public belay::Input {
 public:
  using Options = belay::ClassOptions;
  static constexpr auto about = belay::about("labelled", "Has a label", belay::class_options<Options>());
  explicit Labelled(const Options& o) : o_(o) {}
  void spec(belay::InputSpec& s) override {
    s.feature("x", belay::DType::kFloat32, {-1});
    classes = belay::declare_classes(s, s.label("y", belay::DType::kInt64, {-1}), o_, 7);
  }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch&, belay::Position&) override { return false; }
  void seek(const belay::Position&) override {}

  static inline std::int64_t classes = 0;

 private:
  const Options o_;
};

constexpr belay_input_api kLabelled = belay::detail::make_table<Labelled>();

TEST(ClassOptions, DeclareANumberOrNames) {
  using Words = std::vector<std::string>;
  const struct {
    belay::testing::OptionValues options;
    std::int64_t classes;
    Words names;
  } cases[] = {
      {{}, 7, {}},
      {{{"classes", 3}}, 3, {}},
      {{{"classes", 0}}, 0, {}},
      {{{"class_names", Words{"a", "b"}}}, 2, {"a", "b"}},
      {{{"class_names", Words{"a", "b"}}, {"classes", 2}}, 2, {"a", "b"}},
  };
  for (const auto& c : cases) {
    belay::testing::InputDriver input(&kLabelled, c.options);
    EXPECT_EQ(input.spec()[1].classes, c.classes);
    EXPECT_EQ(Labelled::classes, c.classes);
    EXPECT_EQ(input.spec()[1].class_names, c.names);
  }
}

TEST(ClassOptions, ANumberThatIsNotThatOfTheNamesIsRefused) {
  using Words = std::vector<std::string>;
  belay::testing::InputDriver input(&kLabelled, {{"class_names", Words{"a", "b"}}, {"classes", 3}});
  EXPECT_EQ(belay::testing::error_of([&] { input.spec(); }),
            "INVALID_ARGUMENT: 'classes' is 3, and 'class_names' has 2; leave 'classes' out");
  EXPECT_EQ(belay::text_of_classes(3), "with 3 classes labels are 0 to 2");
}

}  // namespace
