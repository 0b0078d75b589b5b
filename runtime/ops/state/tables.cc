// SPDX-License-Identifier: Apache-2.0
// Hash tables: a node for each, and operations that fill it and look up keys. Like those of queues, they run between
// the stages of a plan.
#include "belay/ops/tables.h"

#include "runtime/graph/host_kernel.h"
#include "runtime/graph/lookup_table.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/state/host_ops.h"

namespace belay::runtime {
namespace {

void infer_table(InferContext& c) {
  const DType key = c.attrs().dtype("key_dtype");
  if (key != DType::kString && key != DType::kInt64) c.fail("attribute 'key_dtype' must be string or int64");
  c.output(DType::kInt64, Shape{});
}

void infer_initialize(InferContext& c) {
  c.need_rank(1, 1);
  c.need_rank(2, 1);
  c.need_dtype(1, c.attrs().dtype("key_dtype"));
  c.need_dtype(2, c.attrs().dtype("value_dtype"));
  if (!Shape::compatible(c.shape(1), c.shape(2)))
    c.fail("a value per key is needed, got " + c.input_text(1) + " and " + c.input_text(2));
}

void infer_lookup(InferContext& c) {
  c.need_dtype(1, c.attrs().dtype("key_dtype"));
  c.need_dtype(2, c.attrs().dtype("value_dtype"));
  c.need_scalar(2);
  c.output(c.dtype(2), c.shape(1));
}

class InitializeKernel final : public HostKernel {
 public:
  void run(HostContext& c) override { c.table(0).initialize(c.input(1), c.input(2)); }
};

class LookupKernel final : public HostKernel {
 public:
  void run(HostContext& c) override { c.output(0, c.table(0).look_up(c.input(1), c.input(2))); }
};

std::vector<AttrDef> table_attrs() {
  return {dtype_attr("key_dtype", "of the keys: string or int64"), dtype_attr("value_dtype", "of the values")};
}

}  // namespace

void add_table_ops(OpRegistry& r) {
  r.add({.name = "HashTable",
         .doc = "A table of the session.",
         .dtypes = "keys string, int64; values any",
         .attrs = table_attrs(),
         .role = Role::kTable,
         .infer = infer_table,
         .stops_gradient = true});
  r.add({.name = "TableInitialize",
         .doc = "Fills a table with keys and their values.",
         .inputs = "table, keys, values",
         .dtypes = "keys string, int64; values any",
         .n_inputs = 3,
         .attrs = table_attrs(),
         .effect = Effect::kState,
         .ref_inputs = 1,
         .infer = infer_initialize,
         .stops_gradient = true,
         .host_kernel = make_host<InitializeKernel>});
  r.add({.name = "TableLookup",
         .doc = "The values of keys in a table; input 2 is that of keys which are not there.",
         .inputs = "table, keys, default",
         .dtypes = "keys string, int64; values any",
         .n_inputs = 3,
         .attrs = table_attrs(),
         .effect = Effect::kQuery,
         .ref_inputs = 1,
         .infer = infer_lookup,
         .stops_gradient = true,
         .host_kernel = make_host<LookupKernel>});
  r.add(size_op<&HostContext::table>("TableSize", "How many keys a table holds.", "table", Effect::kQuery));
}

}  // namespace belay::runtime
