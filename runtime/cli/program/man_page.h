// SPDX-License-Identifier: Apache-2.0
// `belay man` prints the manual page belay(1) for man. It is made from the declarations of the commands and from the
// pages of `belay help`. The build writes it into share/man.
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

std::string man_page(std::string_view version);

}  // namespace belay::runtime
