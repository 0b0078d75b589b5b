# SPDX-License-Identifier: Apache-2.0
# Warnings of our own code; dependencies come in as system headers.
add_library(belay_warnings INTERFACE)
target_compile_options(belay_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wundef -Werror)
# Compilers and their options differ in the accesses that they take for wrong. g++ 12 warns of overlapping copies and
# overflows in std::string that do not exist (GCC bugs 105329, 105651). A newer g++ does not, but warns of overflows in
# insertions into a vector. Such warnings are shown, and end no build. No warning is switched off: a correct place with a
# warning gets `#pragma GCC diagnostic` and the reason.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(belay_warnings INTERFACE
    -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=restrict)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(belay_warnings INTERFACE
      -Wno-error=stringop-overread -Wno-error=maybe-uninitialized -Wno-error=free-nonheap-object)
  endif()
endif()
