// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/fingerprint.h"

#include "runtime/ops/onednn_version.h"
#include "runtime/platform/build_id.h"
#include "runtime/platform/floating_point.h"

namespace belay::runtime {

Fingerprint fingerprint_of(const RunEnvironment& environment, const Registry& plugins) {
  Fingerprint f;
  f.threads = environment.session.threads;
  f.isa = isa_text();
  f.binary = build_id();
  f.seed = environment.session.seed;
  f.precision = precision_name(environment.session.precision);
  f.onednn = onednn_text();
  f.floating_point = kKernelModeText;
  for (const RegisteredPlugin& p : plugins.plugins())
    if (!p.build_id.empty()) f.plugins[std::string(kind_name(p.info.kind)) + ":" + p.info.name] = p.build_id;
  return f;
}

}  // namespace belay::runtime
