// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/tables.h"

#include <gmock/gmock.h>

#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

Tensor texts(const std::vector<std::string>& values) {
  Tensor t(DType::kString, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) t.set_text(i, values[i]);
  return t;
}

class TablesTest : public SessionTest {
 protected:
  Output words(const std::vector<std::string>& values) { return ops::constant(g, texts(values)); }
  Output numbers(std::vector<std::int64_t> values) {
    return ops::constant(g, Tensor({static_cast<std::int64_t>(values.size())}, std::move(values)));
  }
  Output number(std::int64_t value) { return ops::constant(g, Tensor(value)); }
  void initialize_tables() { session().run_once(graph.collection(collections::kTableInitializers)); }
};

TEST_F(TablesTest, AKeyGivesItsValueAndAnotherTheDefault) {
  const ops::TableRef ids = ops::hash_table(g, words({"cat", "dog"}), numbers({3, 5}), "ids");
  const Output found = ops::lookup(ids, words({"dog", "bird", "cat"}), number(-1));
  const Output size = ops::table_size(ids);
  open();
  EXPECT_EQ(value<std::int64_t>(size), 0);
  initialize_tables();
  EXPECT_THAT(values<std::int64_t>(found), ElementsAre(5, -1, 3));
  EXPECT_EQ(value<std::int64_t>(size), 2);
}

TEST_F(TablesTest, NumbersMayBeKeysAndTextsValues) {
  const ops::TableRef names = ops::hash_table(g, numbers({0, 1}), words({"no", "yes"}));
  const Output keys = ops::placeholder(g, DType::kInt64, {-1, 2}, "keys");
  const Output found = ops::lookup(names, keys, ops::constant(g, Tensor(std::string_view("?"))));
  open();
  initialize_tables();
  const RunResult result = session().handle().run({found}, {{keys, Tensor({1, 2}, std::vector<std::int64_t>{1, 9})}});
  EXPECT_EQ(result[0].dims(), (Dims{1, 2}));
  EXPECT_EQ(result[0].text(0), "yes");
  EXPECT_EQ(result[0].text(1), "?");
}

TEST_F(TablesTest, ALookUpBeforeTheInitializerIsAnError) {
  const ops::TableRef ids = ops::hash_table(g, words({"cat"}), numbers({3}), "ids");
  const Output found = ops::lookup(ids, words({"cat"}), number(-1), "find");
  open();
  EXPECT_EQ(error_of([&] { values<std::int64_t>(found); }),
            "FAILED_PRECONDITION: node 'find' (TableLookup): table 'ids' is not initialized: run its initializer (the "
            "collection 'table_initializer') first; a session's local init does");
}

TEST_F(TablesTest, TheSameContentsAreTakenTwiceAndOthersAreNot) {
  LookupTable table("ids", DType::kString, DType::kInt64);
  const Tensor keys = texts({"a", "b"});
  const Tensor values({2}, std::vector<std::int64_t>{1, 2});
  table.initialize(TensorView(keys), TensorView(values));
  table.initialize(TensorView(keys), TensorView(values));
  const Tensor others({2}, std::vector<std::int64_t>{1, 3});
  const Tensor fewer = texts({"a"});
  const Tensor one({1}, std::vector<std::int64_t>{1});
  const std::string expected = "FAILED_PRECONDITION: table 'ids' is initialized already, with other contents";
  EXPECT_EQ(error_of([&] { table.initialize(TensorView(keys), TensorView(others)); }), expected);
  EXPECT_EQ(error_of([&] { table.initialize(TensorView(fewer), TensorView(one)); }), expected);
  EXPECT_EQ(table.size(), 2);
}

TEST_F(TablesTest, BadContentsAreRefusedAndNamed) {
  LookupTable table("ids", DType::kString, DType::kInt64);
  const Tensor keys = texts({"a", "a"});
  const Tensor values({2}, std::vector<std::int64_t>{1, 2});
  const Tensor one({1}, std::vector<std::int64_t>{1});
  EXPECT_EQ(error_of([&] { table.initialize(TensorView(keys), TensorView(values)); }),
            "INVALID_ARGUMENT: table 'ids' is given two values for the key 'a'");
  EXPECT_EQ(error_of([&] { table.initialize(TensorView(keys), TensorView(one)); }),
            "INVALID_ARGUMENT: table 'ids' is given 2 keys and 1 values; they must be equal");
  EXPECT_EQ(table.size(), 0);
}

TEST_F(TablesTest, TypesAndShapesAreCheckedWhileTheGraphIsBuilt) {
  const ops::TableRef ids = ops::hash_table(g, words({"cat"}), numbers({3}), "ids");
  EXPECT_EQ(error_of([&] { ops::hash_table(g, ops::constant(g, Tensor({1}, {1.0f})), numbers({3}), "t"); }),
            "INVALID_ARGUMENT: node 't' (HashTable): attribute 'key_dtype' must be string or int64");
  EXPECT_EQ(error_of([&] { ops::lookup(ids, numbers({1}), number(0), "l"); }),
            "INVALID_ARGUMENT: node 'l' (TableLookup): input 1 (int64 [1]) must be string");
  EXPECT_EQ(error_of([&] { ops::lookup(ids, words({"cat"}), numbers({0}), "l"); }),
            "INVALID_ARGUMENT: node 'l' (TableLookup): input 2 (int64 [1]) must be a scalar");
}

TEST_F(TablesTest, AValuePerKeyIsNeeded) {
  const std::string node = "INVALID_ARGUMENT: node 'TableInitialize' (TableInitialize): ";
  EXPECT_EQ(error_of([&] {
              ops::hash_table(g, words({"cat", "dog"}), numbers({3}));
            }),
            node + "a value per key is needed, got input 1 (string [2]) and input 2 (int64 [1])");
  EXPECT_EQ(error_of([&] { ops::hash_table(g, number(1), numbers({3})); }),
            node + "input 1 (int64 []) must have 1 dimension");
  EXPECT_EQ(error_of([&] { ops::hash_table(g, numbers({3}), number(1)); }),
            node + "input 2 (int64 []) must have 1 dimension");
  EXPECT_EQ(error_of([&] { g.node("HashTable", "t").attr("key_dtype", DType::kInt64).output(); }),
            "INVALID_ARGUMENT: node 't' (HashTable): attribute 'value_dtype' is missing; it is a dtype: of the values");
  const Output keys = ops::placeholder_of_any_rank(g, DType::kInt64, "keys");
  const Output values = ops::placeholder_of_any_rank(g, DType::kInt64, "values");
  const ops::TableRef table = ops::hash_table(g, keys, values, "t");
  const Output init = g.collection(collections::kTableInitializers).back();
  const Output size = ops::table_size(table);
  open();
  const auto error = [&](const Tensor& k, const Tensor& v) {
    return error_of([&] { session().handle().run({init}, {{keys, k}, {values, v}}); });
  };
  const Tensor two({2}, std::vector<std::int64_t>{1, 2}), three({3}, std::vector<std::int64_t>{1, 2, 3});
  EXPECT_EQ(error(two, three), node + "table 't' is given 2 keys and 3 values; they must be equal");
  EXPECT_EQ(value<std::int64_t>(size), 0);
  EXPECT_EQ(error(two, two), "no error");
  EXPECT_EQ(value<std::int64_t>(size), 2);
}

}  // namespace
}  // namespace belay::runtime::testing
