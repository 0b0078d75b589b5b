// SPDX-License-Identifier: Apache-2.0
// docs/reference/ops.md against the registry, and the registry's own descriptions.
#include "tests/docs/ops_page.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/ops/registry.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

std::size_t names_in(const std::string& inputs) {
  return inputs.empty() ? 0 : static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), ',')) + 1;
}

std::vector<std::string> names_of_entries(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(BELAY_SOURCE_DIR "/" + folder))
    names.push_back(entry.path().filename().string());
  return names;
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

// Each header that models include is in one group.
TEST(OpsPage, EachHeaderBelongsToOneGroup) {
  std::vector<std::string> in_groups;
  for (const OpGroup& group : op_groups())
    in_groups.insert(in_groups.end(), group.headers.begin(), group.headers.end());
  EXPECT_THAT(in_groups, ::testing::UnorderedElementsAreArray(names_of_entries("sdk/include/belay/ops")));
}

// Kernels that groups share, and the maker of plugins' operations, have no operations themselves.
TEST(OpsPage, GroupsAreTheFoldersOfOperations) {
  std::vector<std::string> folders{"kernels", "plugin", "CMakeLists.txt", "README.md", "registry.cc", "registry.h"};
  for (const OpGroup& group : op_groups()) folders.push_back(group.folder);
  EXPECT_THAT(folders, ::testing::UnorderedElementsAreArray(names_of_entries("runtime/ops")));
}

TEST(OpsPage, EachOperationIsInTheFolderOfItsGroup) {
  for (const OpGroup& group : op_groups()) {
    const std::string folder = "runtime/ops/" + group.folder;
    std::string sources;
    for (const std::string& name : names_of_entries(folder)) sources += read_source(folder + "/" + name);
    EXPECT_FALSE(group.operations.empty()) << group.folder;
    for (const std::string& name : group.operations)
      EXPECT_NE(sources.find('"' + name + '"'), std::string::npos) << name << " is not in " << folder;
  }
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

TEST(OpsPage, EachFamilyNamesAHeaderOfItsGroup) {
  for (const OpGroup& group : op_groups())
    for (const std::string& header : group.family_headers) EXPECT_THAT(group.headers, ::testing::Contains(header));
}

}  // namespace
}  // namespace belay::runtime
