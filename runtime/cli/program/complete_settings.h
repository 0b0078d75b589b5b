// SPDX-License-Identifier: Apache-2.0
// A shell offers these after `--set`: the keys of the sections, and the options of the plugins that the manifests of
// the command line name; after a key's '=' the words that it may be.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `words`: the command line's, before the one that is written. Each is "KEY=" or "KEY=VALUE", whatever `word` begins
// with.
std::vector<std::string> settings_to_offer(const std::vector<std::string>& words, const std::string& word,
                                           const std::function<PluginSearch()>& search);

}  // namespace belay::runtime
