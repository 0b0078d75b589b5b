// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/onednn_version.h"

#include <fmt/core.h>

#include <dnnl.h>
#include <dnnl_version.h>

namespace belay::runtime {
namespace {

std::string isa_name(dnnl_cpu_isa_t isa) {
  switch (isa) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core: return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
#if DNNL_VERSION_MAJOR >= 3
    case dnnl_cpu_isa_default: return "all";
    case dnnl_cpu_isa_avx2_vnni_2: return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core_fp16: return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx_fp16: return "avx512_core_amx_fp16";
#else
    case dnnl_cpu_isa_all: return "all";
#endif
    default: return fmt::format("isa {}", static_cast<int>(isa));
  }
}

}  // namespace

std::string onednn_text() {
  const dnnl_version_t& version = *dnnl_version();
  std::string text =
      fmt::format("{}.{}.{} {}", version.major, version.minor, version.patch, isa_name(dnnl_get_effective_cpu_isa()));
  if (dnnl_get_cpu_isa_hints() == dnnl_cpu_isa_prefer_ymm) text += ", prefers ymm";
  dnnl_fpmath_mode_t math = dnnl_fpmath_mode_strict;
  if (dnnl_get_default_fpmath_mode(&math) == dnnl_success && math != dnnl_fpmath_mode_strict)
    text += ", float32 as " + std::string(math == dnnl_fpmath_mode_bf16  ? "bf16"
                                          : math == dnnl_fpmath_mode_f16 ? "f16"
                                                                         : "any");
  return text;
}

}  // namespace belay::runtime
