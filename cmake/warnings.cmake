# SPDX-License-Identifier: Apache-2.0
# Warnings of our own code; dependencies come in as system headers.
add_library(belay_warnings INTERFACE)
target_compile_options(belay_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wundef -Werror)
# Several sources compiled as one file are no header, though the compiler takes them for one.
if(CMAKE_UNITY_BUILD)
  target_compile_options(belay_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
# What an optimizer takes for a wrong access differs from compiler to compiler. g++ 12 sees overlapping copies in
# `"text" + std::string(...)` that are not there (GCC bug 105651). A newer g++ does not, but sees overflows in insertions into
# a vector. Its warnings of this kind are shown, and end no build; with g++ 12, which CI has, the others are errors.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(belay_warnings INTERFACE -Wno-restrict)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(belay_warnings INTERFACE
    -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=restrict
    -Wno-error=maybe-uninitialized -Wno-error=free-nonheap-object)
endif()
