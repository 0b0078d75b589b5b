// SPDX-License-Identifier: Apache-2.0
// docs/reference/ops.md, made from the registry of operations. make_ops_page prints it:
//
//   build/bin/make_ops_page > docs/reference/ops.md
#pragma once

#include <string>
#include <vector>

namespace belay::runtime {

std::string ops_page();

// A group of operations, as the page has it.
struct OpGroup {
  std::string folder;                       // of runtime/ops
  std::vector<std::string> headers;         // of belay/ops
  std::vector<std::string> family_headers;  // that the page names for a table
  std::vector<std::string> operations;
};
std::vector<OpGroup> op_groups();

}  // namespace belay::runtime
