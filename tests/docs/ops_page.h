// SPDX-License-Identifier: Apache-2.0
// docs/reference/ops.md, made from the registry of operations. make_ops_page prints it:
//
//   build/bin/make_ops_page > docs/reference/ops.md
#pragma once

#include <string>

namespace belay::runtime {

std::string ops_page();

}  // namespace belay::runtime
