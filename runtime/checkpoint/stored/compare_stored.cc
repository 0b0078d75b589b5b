// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/compare_stored.h"

#include <map>
#include <utility>
#include <vector>

namespace belay::runtime {
namespace {

using Infos = std::map<std::string, std::pair<std::optional<TensorInfo>, std::optional<TensorInfo>>>;

Infos by_name(const StoredTensors& a, const StoredTensors& b, const std::function<bool(const std::string&)>& wanted) {
  Infos all;
  for (TensorInfo& t : a.tensors())
    if (wanted(t.name)) all[t.name].first = std::move(t);
  for (TensorInfo& t : b.tensors())
    if (wanted(t.name)) all[t.name].second = std::move(t);
  return all;
}

StoredDifference difference(const NamedTensor& a, const NamedTensor& b, const TensorDifference& found) {
  const TensorView x(a.tensor), y(b.tensor);
  const TensorInfo info{a.name, x.dtype(), x.dims()};
  return {a.name,
          info,
          info,
          found,
          position_text(x, found.first),
          element_text(x, found.first),
          element_text(y, found.first),
          position_text(x, found.largest_at)};
}

}  // namespace

ComparedStored compare_stored(const StoredBySaver& a, const StoredBySaver& b,
                              const std::function<bool(const std::string&)>& wanted,
                              const std::function<void(const StoredDifference&)>& report) {
  ComparedStored compared;
  std::vector<TensorInfo> both;
  for (auto& [name, infos] : by_name(a.stored, b.stored, wanted)) {
    if (infos.first != infos.second) {
      ++compared.different;
      report({name, infos.first, infos.second});
    } else if (is_readable(*infos.first)) {
      both.push_back(*infos.first);
    } else {
      ++compared.unread;
    }
  }
  read_two(a, b, both, [&](const NamedTensor& x, const NamedTensor& y) {
    const TensorDifference found = difference_of(x.tensor, y.tensor);
    ++(found.count == 0 ? compared.equal : compared.different);
    if (found.count != 0) report(difference(x, y, found));
  });
  return compared;
}

}  // namespace belay::runtime
