# SPDX-License-Identifier: Apache-2.0
# BELAY_OLD_PROCESSOR: what runs on a processor without AVX-512 runs here too, so that the tests see it. The versions of
# our own loops for newer processors (runtime/ops/kernels/hot.h) are left out, and oneDNN is limited by its variable.
set(belay_test_environment)
if(BELAY_OLD_PROCESSOR)
  add_compile_definitions(BELAY_OLD_PROCESSOR)
  set(belay_test_environment ONEDNN_MAX_CPU_ISA=AVX2)
endif()
