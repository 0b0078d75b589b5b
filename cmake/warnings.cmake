# SPDX-License-Identifier: Apache-2.0
# Warnings of our own code; dependencies come in as system headers.
add_library(belay_warnings INTERFACE)
target_compile_options(belay_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wundef -Werror)
# Several sources compiled as one file are no header, though the compiler takes them for one.
if(CMAKE_UNITY_BUILD)
  target_compile_options(belay_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
# g++ 12 sees overlapping copies in `"text" + std::string(...)` that are not there (GCC bug 105651).
target_compile_options(belay_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
