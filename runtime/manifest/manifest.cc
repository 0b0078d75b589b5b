// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

Location Manifest::at(const std::string& key) const {
  for (std::string name = key;;) {
    if (const auto place = places.find(name); place != places.end()) return place->second;
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos) return {file, 0, 0};
    name.resize(dot);
  }
}

}  // namespace belay::runtime
