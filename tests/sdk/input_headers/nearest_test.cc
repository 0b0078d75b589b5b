// SPDX-License-Identifier: Apache-2.0
#include <belay/nearest.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace {

TEST(Nearest, CountsEdits) {
  struct Case {
    const char *a, *b;
    std::size_t distance;
  };
  const Case cases[] = {{"", "", 0},       {"a", "", 1},         {"abc", "abc", 0},  {"abc", "abd", 1},
                        {"abc", "acb", 1}, {"abc", "ab", 1},     {"abc", "xabc", 1}, {"kitten", "sitting", 3},
                        {"ca", "abc", 3},  {"width", "wdith", 1}};
  for (const Case& c : cases) {
    EXPECT_EQ(belay::edit_distance(c.a, c.b), c.distance) << c.a << " " << c.b;
    EXPECT_EQ(belay::edit_distance(c.b, c.a), c.distance) << c.b << " " << c.a;
  }
}

TEST(Nearest, TakesTheNearestWithinAThirdOfTheName) {
  const std::vector<std::string> names = {"batch_size", "shuffle", "epochs", "mean", "a"};
  struct Case {
    const char *name, *nearest;
  };
  const Case cases[] = {{"batchsize", "batch_size"},
                        {"shufle", "shuffle"},
                        {"epoch", "epochs"},
                        {"men", "mean"},
                        {"b", ""},
                        {"ab", "a"},
                        {"banana", ""},
                        {"", ""},
                        {"bthsze", ""},
                        {"batch_sezi", "batch_size"}};
  for (const Case& c : cases) EXPECT_EQ(belay::nearest(c.name, names), c.nearest) << c.name;
}

TEST(Nearest, TheFirstOfEquallyNearOnes) {
  EXPECT_EQ(belay::nearest("cat", std::vector<const char*>{"bat", "rat"}), "bat");
}

TEST(Nearest, UpperAndLowerCaseAreNoDistance) {
  EXPECT_EQ(belay::nearest("RUN", std::vector<const char*>{"rum", "run"}), "run");
  EXPECT_EQ(belay::nearest("same", std::vector<const char*>{"VALID", "SAME"}), "SAME");
  EXPECT_EQ(belay::nearest("run", std::vector<const char*>{"run"}), "run");
  EXPECT_EQ(belay::nearest("Ru", std::vector<const char*>{"run", "lint"}), "");
}

TEST(Nearest, SaysWhatWasMeant) {
  EXPECT_EQ(belay::did_you_mean("los", std::vector<std::string>{"loss"}), " (did you mean \"loss\"?)");
  EXPECT_EQ(belay::did_you_mean("x", std::vector<std::string>{}), "");
}

}  // namespace
