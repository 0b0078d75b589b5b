// SPDX-License-Identifier: Apache-2.0
// `belay man`: the manual page belay(1) for man, made from the declarations of the commands and from the pages that
// `belay help` prints. The build writes it into share/man.
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

std::string man_page(std::string_view version);

}  // namespace belay::runtime
