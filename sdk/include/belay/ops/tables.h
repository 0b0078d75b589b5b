// SPDX-License-Identifier: Apache-2.0
// Hash tables from strings or int64 numbers to values, for example a vocabulary. A table belongs to a session, which
// fills it in its local init (collection "table_initializer"). After that it does not change.
//
//   Tensor words(DType::kString, {2});
//   words.set_text(0, "yes");
//   words.set_text(1, "no");
//   const Output numbers = ops::range(g, 0, 2, 1, DType::kInt64);
//   const ops::TableRef ids = ops::hash_table(g, ops::constant(g, words), numbers, "answers");
//   const Output id = ops::lookup(ids, answer, ops::constant(g, Tensor(std::int64_t{-1})));     -1: neither
//
// The host looks up keys one by one, between the parallel parts of a step. No gradient passes: look up ids here and
// embed them with ops::embedding.
#pragma once

#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// A table's node, and the dtypes of its keys and values.
struct TableRef {
  Output handle;
  DType key_dtype = DType::kInvalid;  // kString or kInt64
  DType value_dtype = DType::kInvalid;
};

// A table with its contents: two vectors of one length [n], keys of string or int64, values of any dtype. The run that
// initializes it fails with INVALID_ARGUMENT if a key has two values. A second initialization with other contents is
// FAILED_PRECONDITION.
inline TableRef hash_table(const Graph& g, const Output& keys, const Output& values, std::string_view name = {}) {
  const TableRef t{
      g.node("HashTable", name).attr("key_dtype", keys.dtype()).attr("value_dtype", values.dtype()).output(),
      keys.dtype(), values.dtype()};
  const Output init = g.node("TableInitialize", {})
                          .in(t.handle)
                          .in(keys)
                          .in(values)
                          .attr("key_dtype", t.key_dtype)
                          .attr("value_dtype", t.value_dtype)
                          .operation();
  g.collect(collections::kTableInitializers, init);
  return t;
}
// The keys' values, in the keys' shape and the values' dtype. default_value, a scalar of that dtype, is for unknown
// keys. FAILED_PRECONDITION: the table is not filled yet.
inline Output lookup(const TableRef& t, const Output& keys, const Output& default_value, std::string_view name = {}) {
  return t.handle.graph()
      .node("TableLookup", name)
      .in(t.handle)
      .in(keys)
      .in(default_value)
      .attr("key_dtype", t.key_dtype)
      .attr("value_dtype", t.value_dtype)
      .output();
}
// The number of different keys, an int64 scalar; 0 before the table is filled.
inline Output table_size(const TableRef& t, std::string_view name = {}) {
  return t.handle.graph().node("TableSize", name).in(t.handle).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
