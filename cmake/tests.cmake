# SPDX-License-Identifier: Apache-2.0
# The kinds of test programs: belay_test for what is linked in, belay_run_test for what drives the program `belay`,
# belay_plugin_test for a plugin, belay_check for a script.

# Test programs are compiled with less effort than what they test, which halves the time that a build takes: without
# optimization, and with the address sanitizer alone where what they test has the undefined-behaviour one, too.
set(belay_test_options -O0 -U_FORTIFY_SOURCE)
if(BELAY_SANITIZE STREQUAL "address")
  list(APPEND belay_test_options -fno-sanitize=undefined)
endif()
# Sources of tests are short, so more of them than of a library are compiled as one file.
set(belay_test_batch 64)

# A faster linker, for test programs only: what is installed is linked as everybody's programs are.
find_program(BELAY_MOLD ld.mold)
find_program(BELAY_LLD ld.lld)
set(belay_test_link_options)
if(BELAY_MOLD)
  set(belay_test_link_options -fuse-ld=mold)
elseif(BELAY_LLD)
  set(belay_test_link_options -fuse-ld=lld)
endif()

file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  add_executable(belay_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
  belay_precompile(belay_test_headers
    HEADERS <belay/testing/testing.h> <gmock/gmock.h> <gtest/gtest.h> <chrono> <filesystem> <fstream> <functional> <map>
            <nlohmann/json.hpp> <sstream> <thread>
    LINK belay::testing GTest::gmock belay_warnings
    OPTIONS ${belay_test_options})
endif()

# The tests of ctest -j run at the same time, so they get the setting that belay makes for itself
# (runtime/platform/threads/spinning.h).
list(APPEND belay_test_environment GOMP_SPINCOUNT=1000)
# The address sanitizer guesses where a loaded library's thread-local memory is. The guess depends on addresses by chance,
# and the leak checker crashes if it is wrong. Without the guess it finds that memory through the thread.
if(BELAY_SANITIZE STREQUAL "address")
  list(APPEND belay_test_environment ASAN_OPTIONS=intercept_tls_get_addr=0)
endif()

# A build with a sanitizer runs by default what tests/sanitized.txt lists, and the rest only with `./dev test --whole`.
# belay_listed(test) sets `listed` and `filter`, the part of the program's tests that is listed.
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/sanitized.txt belay_sanitized_lines REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/sanitized.txt)
function(belay_listed test)
  set(listed NO PARENT_SCOPE)
  foreach(line IN LISTS belay_sanitized_lines)
    if(line MATCHES "^([^ ]+) +([^ ]+) +([^ ]+) " AND CMAKE_MATCH_1 STREQUAL test)
      set(filter ${CMAKE_MATCH_3} PARENT_SCOPE)
      if(CMAKE_MATCH_2 MATCHES "${BELAY_SANITIZE}")
        set(listed YES PARENT_SCOPE)
      endif()
      set_property(GLOBAL APPEND PROPERTY BELAY_LISTED_TESTS ${test})
    endif()
  endforeach()
endfunction()
# In a build with a sanitizer: leaves a test out by default unless it is listed.
function(belay_leave_out_unlisted test)
  if(BELAY_SANITIZE)
    belay_listed(${test})
    if(NOT listed)
      set_property(TEST ${test} APPEND PROPERTY LABELS unlisted)
    endif()
  endif()
endfunction()

# belay_check(name COMMAND ... [LONG]): a test that is a command. Its exit status 77 means skipped.
function(belay_check name)
  cmake_parse_arguments(A "LONG" "" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${A_COMMAND})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  if(A_LONG)
    set_property(TEST ${name} APPEND PROPERTY LABELS long)
  endif()
  belay_leave_out_unlisted(${name})
endfunction()

# Registers a GoogleTest program with ctest, in SHARDS parts.
function(belay_add_shards name command shards environment)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(shards GREATER 1)
      set(test ${name}.${shard})
    endif()
    add_test(NAME ${test} COMMAND ${command})
    set_tests_properties(${test} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};${environment}")
    list(APPEND tests ${test})
  endforeach()
  set(tests ${tests} PARENT_SCOPE)
endfunction()

# All test programs of this repository have these.
function(belay_test_program name)
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main belay_warnings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    BELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BELAY_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_compile_options(${name} PRIVATE ${belay_test_options})
  target_link_options(${name} PRIVATE ${belay_test_link_options})
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE ${belay_test_batch})
  belay_reuse_headers(${name} belay_test_headers)
endfunction()

# Programs of the long suite are compiled for it alone (target long_tests).
add_custom_target(long_tests)
function(belay_make_long name)
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(long_tests ${name})
endfunction()

# The build whose test programs, and whose objects of tests, a build with a sanitizer uses.
set(BELAY_TEST_PROGRAMS ${PROJECT_SOURCE_DIR}/build/release CACHE PATH
  "the build whose test programs a build with a sanitizer runs")
# The target of that build's tests, which ./dev makes first.
add_custom_target(run_tests)

# The sources of most unit tests are compiled only once: a build with the address sanitizer links their objects to its
# instrumented code. belay_reused_objects(program) sets `objects`. If it is empty, this build compiles the sources itself.
function(belay_reused_objects program)
  set(objects "")
  if(BELAY_SANITIZE STREQUAL "address" AND EXISTS ${BELAY_TEST_PROGRAMS}/objects/${program})
    file(STRINGS ${BELAY_TEST_PROGRAMS}/objects/${program} objects)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BELAY_TEST_PROGRAMS}/objects/${program})
  endif()
  set(objects ${objects} PARENT_SCOPE)
endfunction()
# The other side: the list of a program's objects.
function(belay_offer_objects program)
  if(NOT BELAY_SANITIZE)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects/${program} CONTENT "$<JOIN:$<TARGET_OBJECTS:${program}>,\n>\n")
    add_dependencies(run_tests ${program})
  endif()
endfunction()
# If several files have an inline function, a program takes the first. So the code under test comes before the tests.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/no_source.cc CONTENT "\n")
function(belay_link_objects program)
  cmake_parse_arguments(A "" "" "OBJECTS;UNDER_TEST" ${ARGN})
  get_property(of_runtime GLOBAL PROPERTY BELAY_RUNTIME_TARGETS)
  foreach(library IN LISTS A_UNDER_TEST)
    if(library IN_LIST of_runtime)
      target_link_options(${program} PRIVATE
        "SHELL:-Wl,--whole-archive $<TARGET_FILE:${library}> -Wl,--no-whole-archive")
    endif()
  endforeach()
  target_link_libraries(${program} PRIVATE ${A_OBJECTS})
  set_target_properties(${program} PROPERTIES LINK_DEPENDS "${A_OBJECTS}" DISABLE_PRECOMPILE_HEADERS ON UNITY_BUILD OFF)
endfunction()

# belay_test(name SOURCES ... LINK ... [SHARDS n] [LONG] [RECOMPILED]): a GoogleTest program that has what it tests linked
# in. LONG: only in ./dev test --long. RECOMPILED: a build with a sanitizer compiles its sources, since they ask which build
# they are in, name its files, or test templates and inline functions. tests/sanitized.txt has a line for each.
function(belay_test name)
  cmake_parse_arguments(A "LONG;RECOMPILED" "SHARDS" "SOURCES;LINK" ${ARGN})
  set(objects "")
  if(NOT A_LONG AND NOT A_RECOMPILED)
    belay_reused_objects(${name})
  endif()
  if(objects)
    add_executable(${name} ${PROJECT_BINARY_DIR}/no_source.cc)
    belay_link_objects(${name} OBJECTS ${objects} UNDER_TEST ${A_LINK})
  else()
    add_executable(${name} ${A_SOURCES})
  endif()
  target_link_libraries(${name} PRIVATE ${A_LINK})
  belay_test_program(${name})
  if(NOT A_LONG AND NOT A_RECOMPILED)
    belay_offer_objects(${name})
  endif()
  if(NOT A_SHARDS)
    set(A_SHARDS 1)
  endif()
  belay_add_shards(${name} ${name} ${A_SHARDS} "${belay_test_environment}")
  if(A_LONG)
    belay_make_long(${name})
    set_property(TEST ${tests} APPEND PROPERTY LABELS long)
  elseif(BELAY_SANITIZE)
    belay_listed(${name})
    if(NOT filter)
      message(SEND_ERROR "tests/sanitized.txt does not name ${name}")
    elseif(NOT listed)
      set_property(TEST ${tests} APPEND PROPERTY LABELS unlisted)
    endif()
  endif()
endfunction()

# belay_run_test(name SOURCES ... [LINK ...] [PLUGINS ...] [SHARDS n] [LONG]): a GoogleTest program that drives `belay`
# (tests/e2e/belay_process.h), and the tests' own plugins that it needs. It is compiled in a build without a sanitizer
# only. A build with one runs the programs of the build in BELAY_TEST_PROGRAMS, with its own `belay` and plugins.
function(belay_run_test name)
  cmake_parse_arguments(A "LONG" "SHARDS" "SOURCES;LINK;PLUGINS" ${ARGN})
  if(NOT A_SHARDS)
    set(A_SHARDS 1)
  endif()
  if(BELAY_SANITIZE)
    set(environment ${belay_test_environment} BELAY_TEST_BUILD=${PROJECT_BINARY_DIR}
      BELAY_TEST_SANITIZER=${BELAY_SANITIZE})
    belay_add_shards(${name} ${BELAY_TEST_PROGRAMS}/bin/${name} ${A_SHARDS} "${environment}")
    set(label $<IF:$<BOOL:${A_LONG}>,long,unlisted>)
    set_property(TEST ${tests} APPEND PROPERTY LABELS ${label})
    belay_listed(${name})
    if(listed)
      add_test(NAME ${name}.listed COMMAND ${BELAY_TEST_PROGRAMS}/bin/${name} --gtest_filter=${filter})
      set_tests_properties(${name}.listed PROPERTIES ENVIRONMENT "${environment}")
    endif()
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE belay_run_fixture ${A_LINK})
  belay_test_program(${name})
  add_dependencies(${name} belay belay_plugins ${A_PLUGINS})
  belay_add_shards(${name} ${name} ${A_SHARDS} "${belay_test_environment}")
  if(A_LONG)
    belay_make_long(${name})
    set_property(TEST ${tests} APPEND PROPERTY LABELS long)
  else()
    add_dependencies(run_tests ${name})
    set_property(TEST ${tests} APPEND PROPERTY LABELS run)
  endif()
endfunction()

# belay_test_plugin(plugin): a plugin that only tests load is compiled as quickly as they are.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  add_library(belay_test_plugin_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
  belay_precompile(belay_test_plugin_headers HEADERS ${belay_plugin_headers} LINK belay_sdk belay_warnings OPTIONS ${belay_test_options})
endif()
function(belay_test_plugin plugin)
  target_compile_options(${plugin}_linked PRIVATE ${belay_test_options})
  belay_reuse_headers(${plugin}_linked belay_test_plugin_headers)
endfunction()

# belay_plugin_test(plugin SOURCES ... [LINK ...]): the tests of a plugin of ours, in the one program of its kind,
# plugins_<kind>_test.
function(belay_plugin_test plugin)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH kind)
  cmake_path(GET kind FILENAME kind)
  set(program plugins_${kind}_test)
  belay_reused_objects(${program})
  if(NOT TARGET ${program})
    if(objects)
      add_executable(${program} ${PROJECT_BINARY_DIR}/no_source.cc)
      belay_link_objects(${program} OBJECTS ${objects})
    else()
      add_executable(${program} ${PROJECT_SOURCE_DIR}/plugins/count_allocations.cc)
    endif()
    belay_test_program(${program})
    belay_offer_objects(${program})
    set_property(GLOBAL APPEND PROPERTY BELAY_PLUGIN_KINDS ${kind})
  endif()
  if(NOT objects)
    list(TRANSFORM A_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    target_sources(${program} PRIVATE ${A_SOURCES})
  endif()
  target_link_libraries(${program} PRIVATE ${plugin}_linked belay::testing ${A_LINK})
  add_dependencies(${program} ${plugin})
  set_property(GLOBAL APPEND PROPERTY BELAY_PLUGIN_FILES_${kind} $<TARGET_FILE:${plugin}>)
endfunction()
# After all of them. ctest runs each program twice, as belay_add_plugin_test has it for authors: with the plugins linked
# in, and with their library files.
function(belay_run_plugin_tests)
  get_property(kinds GLOBAL PROPERTY BELAY_PLUGIN_KINDS)
  foreach(kind IN LISTS kinds)
    set(program plugins_${kind}_test)
    get_property(files GLOBAL PROPERTY BELAY_PLUGIN_FILES_${kind})
    add_test(NAME ${program} COMMAND ${program})
    add_test(NAME ${program}.so COMMAND ${program})
    set_property(TEST ${program} ${program}.so APPEND PROPERTY ENVIRONMENT ${belay_test_environment})
    set_property(TEST ${program}.so APPEND PROPERTY ENVIRONMENT "BELAY_PLUGIN_UNDER_TEST=$<JOIN:${files},:>")
    belay_leave_out_unlisted(${program})
    belay_leave_out_unlisted(${program}.so)
  endforeach()
endfunction()
