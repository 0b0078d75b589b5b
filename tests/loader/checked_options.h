// SPDX-License-Identifier: Apache-2.0
// A plugin's table in a manifest, as check_options sees it: an option a line, from line 8 on.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/loader/options/check_options.h"

namespace belay::runtime {

class CheckedOptions : public ::testing::Test {
 protected:
  CheckedOptions(PluginInfo plugin, PathContext paths) : plugin_(std::move(plugin)), paths_(std::move(paths)) {
    use_.plugin = plugin_.name;
    use_.at = {"train.toml", 7, 1};
  }
  void give(const std::string& key, OptionValue value) {
    const int line = 8 + static_cast<int>(use_.options.size());
    use_.options.push_back({key, std::move(value), {"train.toml", line, 1}, {"train.toml", line, 10}});
  }
  // Each problem as "line:column message [help]".
  std::string check() {
    Diagnostics problems;
    values_ = check_options(plugin_, use_, paths_, problems);
    std::string all;
    for (const Diagnostic& d : problems.sorted())
      all += (all.empty() ? "" : "\n") + std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " +
             d.message + " [" + d.help + "]";
    return all;
  }
  // Null: the plugin gets none of that name.
  const belay_value* value(std::string_view name) const {
    for (std::uint64_t i = 0; i < values_.size(); ++i)
      if (detail::view(values_.data()[i].name) == name) return &values_.data()[i].value;
    return nullptr;
  }

  const PluginInfo plugin_;
  const PathContext paths_;
  PluginUse use_;
  OptionValues values_;
};

}  // namespace belay::runtime
