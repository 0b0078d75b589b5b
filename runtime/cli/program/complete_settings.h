// SPDX-License-Identifier: Apache-2.0
// A shell offers these after `--set`: the keys of the sections, and the options of the plugins in the command line's
// manifests. After a key's '=' it offers the possible words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `words`: the command line's, before the word at the cursor. Each result is "KEY=" or "KEY=VALUE", for any beginning
// in `word`.
std::vector<std::string> settings_to_offer(const std::vector<std::string>& words, const std::string& word,
                                           const std::function<PluginSearch()>& search);

}  // namespace belay::runtime
