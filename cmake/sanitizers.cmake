# SPDX-License-Identifier: Apache-2.0
# BELAY_SANITIZE=address: with the undefined-behaviour sanitizer. =thread: own loops run on std::thread instead of OpenMP,
# whose runtime the thread sanitizer cannot see into (runtime/ops/kernels/parallel.h).
if(BELAY_SANITIZE STREQUAL "address")
  # Without the checks of each pointer for null, which the address sanitizer reports as well, and of each object's type:
  # a sixth of the time that everything takes to compile.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  # A quarter of what is left: a function with more than 50 accesses calls the check of each, which is as strict. GCC
  # leaves out that of alignment, which the fuzz programs (Clang) have for every parser.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fno-sanitize=alignment --param=asan-instrumentation-with-call-threshold=50)
  endif()
elseif(BELAY_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(BELAY_PARALLEL_STD_THREAD)
elseif(NOT BELAY_SANITIZE STREQUAL "")
  message(FATAL_ERROR "BELAY_SANITIZE is '${BELAY_SANITIZE}'; use address, thread or nothing")
endif()

# Counts of several threads and processes are added up.
if(BELAY_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

# The fuzzer sees which branches of the libraries an input takes.
if(BELAY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Hardening, in every build.
add_compile_options(-fstack-protector-strong)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
if(BELAY_SANITIZE STREQUAL "" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
add_link_options(-Wl,-z,relro,-z,now)
