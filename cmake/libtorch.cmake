# SPDX-License-Identifier: Apache-2.0
# Makes the target belay_libtorch of Debian's libtorch-dev, if it is installed. Benchmarks and one test compare with it;
# nothing else needs it.
find_path(BELAY_TORCH_INCLUDE torch/torch.h PATH_SUFFIXES torch/csrc/api/include)
find_library(BELAY_TORCH torch)
find_library(BELAY_TORCH_CPU torch_cpu)
find_library(BELAY_C10 c10)
mark_as_advanced(BELAY_TORCH_INCLUDE BELAY_TORCH BELAY_TORCH_CPU BELAY_C10)
if(BELAY_TORCH_INCLUDE AND BELAY_TORCH AND BELAY_TORCH_CPU AND BELAY_C10 AND NOT TARGET belay_libtorch)
  add_library(belay_libtorch INTERFACE)
  target_include_directories(belay_libtorch SYSTEM INTERFACE ${BELAY_TORCH_INCLUDE})
  target_link_libraries(belay_libtorch INTERFACE ${BELAY_TORCH} ${BELAY_TORCH_CPU} ${BELAY_C10} OpenMP::OpenMP_CXX)
endif()
