// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run/fingerprint.h"

#include "runtime/ops/kernels/onednn_version.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/floating_point.h"

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
  f.c_library = c_library_text();
  for (const RegisteredPlugin& p : plugins.plugins())
    if (!p.build_id.empty()) f.plugins[std::string(kind_name(p.info.kind)) + ":" + p.info.name] = p.build_id;
  return f;
}

std::vector<std::string> differences_between(const Fingerprint& stored, const Fingerprint& own) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now) differences.push_back(std::string(what) + " was " + before + ", is " + now);
  };
  compare("threads", std::to_string(stored.threads), std::to_string(own.threads));
  compare("seed", std::to_string(stored.seed), std::to_string(own.seed));
  compare("instruction set", stored.isa, own.isa);
  compare("binary", stored.binary, own.binary);
  compare("precision", stored.precision, own.precision);
  if (!stored.onednn.empty()) compare("oneDNN", stored.onednn, own.onednn);
  compare("floating point", stored.floating_point, own.floating_point);
  if (!stored.c_library.empty()) compare("C library", stored.c_library, own.c_library);
  std::vector<std::string> anew;
  for (const auto& [plugin, id] : own.plugins)
    if (const auto before = stored.plugins.find(plugin); before != stored.plugins.end() && before->second != id)
      anew.push_back(escaped(plugin));
  if (!anew.empty()) differences.push_back("built anew since: " + joined(anew));
  return differences;
}

}  // namespace belay::runtime
