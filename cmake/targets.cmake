# SPDX-License-Identifier: Apache-2.0
# belay_runtime_library(name SOURCES ... [LINK ...] [PRIVATE ...]): one folder of runtime/ as the static library belay_<name>,
# exported as belay::<name>. LINK is what its headers need, PRIVATE what only its sources do. All of them see runtime/include,
# the headers of programs, which are installed beside the SDK's; no others of runtime/ are.
function(belay_runtime_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK;PRIVATE" ${ARGN})
  add_library(belay_${name} STATIC ${A_SOURCES})
  add_library(belay::${name} ALIAS belay_${name})
  set_target_properties(belay_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(belay_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(belay_${name} PUBLIC belay_sdk ${A_LINK}
    PRIVATE $<BUILD_INTERFACE:belay_warnings> ${A_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY BELAY_RUNTIME_TARGETS belay_${name})
endfunction()

# The presets that build everything (release, asan, tsan, v2) compile up to eight sources of a target as one file
# (CMAKE_UNITY_BUILD), which halves the time, since each header is parsed once for all of them. So two sources of a target
# define no name twice in anonymous namespaces (tests/tree/names.py finds those that the order of the sources would hide,
# so that runtime/ops is compiled so, too); dev, for those who edit, compiles each source by itself.

# Test programs are compiled with less effort than what they test, which halves the time that a build takes: without
# optimization, and with the address sanitizer alone where what they test has the undefined-behaviour one, too.
set(belay_test_options -O0 -U_FORTIFY_SOURCE)
if(BELAY_SANITIZE STREQUAL "address")
  list(APPEND belay_test_options -fno-sanitize=undefined)
endif()

# What every test parses first is parsed once for all of them. ccache does not take precompiled headers: with it every
# test parses for itself. All have OpenMP's flag, since the headers must be parsed with the flags of who uses them; one
# that has other flags parses for itself, too.
set(CMAKE_PCH_WARN_INVALID OFF)
if(BELAY_TESTS AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
  add_executable(belay_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
  target_link_libraries(belay_test_headers PRIVATE belay::testing GTest::gmock belay_warnings)
  target_compile_options(belay_test_headers PRIVATE ${belay_test_options} -fopenmp)
  target_precompile_headers(belay_test_headers PRIVATE
    <belay/testing/testing.h> <gmock/gmock.h> <gtest/gtest.h> <chrono> <filesystem> <fstream> <functional> <map> <sstream>
    <thread>)
endif()
function(belay_reuse_test_headers target)
  if(TARGET belay_test_headers)
    target_compile_options(${target} PRIVATE -fopenmp)
    target_precompile_headers(${target} REUSE_FROM belay_test_headers)
  endif()
endfunction()

# What belay sets for itself (runtime/platform/spinning.h): the tests of ctest -j are programs that run beside each other.
list(APPEND belay_test_environment GOMP_SPINCOUNT=1000)

# belay_test(name SOURCES ... LINK ... [SHARDS n] [LONG]): one GoogleTest program, run by ctest. LONG: only in
# ./dev test --long.
function(belay_test name)
  cmake_parse_arguments(A "LONG" "SHARDS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_LINK} GTest::gmock GTest::gtest_main belay_warnings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    BELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BELAY_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_compile_options(${name} PRIVATE ${belay_test_options})
  belay_reuse_test_headers(${name})
  if(NOT A_SHARDS)
    set(A_SHARDS 1)
  endif()
  math(EXPR last "${A_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(A_SHARDS GREATER 1)
      set(test ${name}.${shard})
    endif()
    add_test(NAME ${test} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${A_SHARDS};GTEST_SHARD_INDEX=${shard};${belay_test_environment}")
    if(A_LONG)
      set_tests_properties(${test} PROPERTIES LABELS long)
    endif()
  endforeach()
endfunction()

# belay_plugin_test(plugin SOURCES ... [LINK ...]): belay_add_plugin_test with what this repository's own tests have.
function(belay_plugin_test plugin)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  belay_add_plugin_test(${plugin} SOURCES ${A_SOURCES} LINK ${A_LINK} belay_warnings)
  target_include_directories(${plugin}_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${plugin}_test PRIVATE
    BELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BELAY_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_compile_options(${plugin}_test PRIVATE ${belay_test_options})
  belay_reuse_test_headers(${plugin}_test)
  set_property(TEST ${plugin}_test APPEND PROPERTY ENVIRONMENT ${belay_test_environment})
endfunction()
