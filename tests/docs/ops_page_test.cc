// SPDX-License-Identifier: Apache-2.0
// docs/reference/ops.md against the registry, and the registry's own descriptions.
#include "tests/docs/ops_page.h"

#include <algorithm>

#include "runtime/ops/registry.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

std::size_t names_in(const std::string& inputs) {
  return inputs.empty() ? 0 : static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), ',')) + 1;
}

TEST(OpsPage, IsWhatTheRegistrySays) {
  EXPECT_EQ(read_source("docs/reference/ops.md"), ops_page())
      << "renew it: build/bin/make_ops_page > docs/reference/ops.md";
}

TEST(OpsPage, HasEveryOperation) {
  const std::string page = ops_page();
  for (const std::string& name : make_op_registry()->names())
    EXPECT_NE(page.find("\n| `" + name + "` | "), std::string::npos)
        << name << " belongs to a family that tests/docs/ops_page.cc does not list";
}

TEST(OpsPage, EveryOperationDescribesItself) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  for (const std::string& name : registry->names()) {
    const OpDef& op = *registry->find(name);
    EXPECT_FALSE(op.doc.empty()) << name;
    EXPECT_TRUE(!op.dtypes.empty() || name == "NoOp") << name << " has no dtypes";
    if (op.n_inputs >= 0) {
      EXPECT_EQ(names_in(op.inputs), static_cast<std::size_t>(op.n_inputs)) << name << ": inputs '" << op.inputs << "'";
    } else {
      EXPECT_NE(op.inputs.find("..."), std::string::npos) << name << " takes any number of inputs: name them \"xs...\"";
    }
  }
}

// A header that a line names can be read.
TEST(OpsPage, NamesHeadersThatExist) {
  for (const PageSection& section : sections_of(ops_page())) {
    const std::size_t at = section.text.find("`belay/ops/");
    if (at == std::string::npos || section.heading == "Operations") continue;
    const std::string header = section.text.substr(at + 1, section.text.find('`', at + 1) - at - 1);
    EXPECT_FALSE(read_source("sdk/include/" + header).empty()) << section.heading;
  }
}

}  // namespace
}  // namespace belay::runtime
