// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/replay_proof.h"

#include <fmt/core.h>

#include <bit>
#include <shared_mutex>

#include "belay/state_digest.h"
#include "runtime/checkpoint/read/compare_tensors.h"
#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/monitored/saving/averages.h"
#include "runtime/monitored/saving/run_saver.h"

namespace belay::runtime {
namespace {

void compare_tensor(const TensorView& now, const NamedTensor& stored, StateDifference& found) {
  const TensorView then(stored.tensor);
  const auto* a = static_cast<const unsigned char*>(now.raw().data);
  const auto* b = static_cast<const unsigned char*>(then.raw().data);
  const std::size_t width = dtype_size(then.dtype());
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < then.bytes(); ++i) {
    if (a[i] == b[i]) continue;
    if (found.first.empty()) found.first = fmt::format("{}[{}]", stored.name, i / width);
    differing += static_cast<std::uint64_t>(std::popcount(static_cast<unsigned char>(a[i] ^ b[i])));
  }
  found.bits += 8 * then.bytes();
  found.differing += differing;
  found.differing_variables += differing == 0 ? 0 : 1;
  ++found.variables;
}

}  // namespace

StateDifference compare_state(DirectSession& session, const CheckpointReader& checkpoint, const SaverUse& saver) {
  check_fits(checkpoint, variable_infos(session));
  StateDifference found;
  VariableStore& store = session.store();
  const bool swapped = [&] {
    const std::shared_lock gate(store.gate());
    return swapped_since(store, checkpoint, saver);
  }();
  read_tensors(checkpoint, saver, checkpoint.tensors(), [&](const NamedTensor& stored) {
    const std::shared_lock gate(store.gate());
    const Variable* now = swapped ? find_swapped(store, stored.name) : store.find(stored.name);
    if (now != nullptr) compare_tensor(TensorView(now->value.view()), stored, found);
  });
  return found;
}

std::string digest_of_state(DirectSession& session) {
  StateDigest digest;
  const std::shared_lock gate(session.store().gate());
  for (const Variable* v : session.variables()) digest.add(v->name, TensorView(v->value.view()));
  return digest.text();
}

}  // namespace belay::runtime
