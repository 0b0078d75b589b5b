# SPDX-License-Identifier: Apache-2.0
# Code that no training step runs is compiled with -O1, which takes a third less time (cli: 30.6 s for 48.3 s).
set(belay_light_options -O1)

# belay_runtime_library(name [LIGHT] SOURCES ... [LINK ...] [PRIVATE ...]): one folder of runtime/ as the static library
# belay_<name>, exported as belay::<name>. LIGHT: no step runs it. LINK is what its headers need, PRIVATE what only its
# sources do. All of them see runtime/include, the headers of programs. Only these headers of runtime/ are installed, with
# the SDK's.
function(belay_runtime_library name)
  cmake_parse_arguments(A "LIGHT" "" "SOURCES;LINK;PRIVATE" ${ARGN})
  add_library(belay_${name} STATIC ${A_SOURCES})
  add_library(belay::${name} ALIAS belay_${name})
  set_target_properties(belay_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(belay_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(belay_${name} PUBLIC belay_sdk ${A_LINK}
    PRIVATE $<BUILD_INTERFACE:belay_warnings> ${A_PRIVATE})
  if(A_LIGHT)
    target_compile_options(belay_${name} PRIVATE $<$<CONFIG:Release>:${belay_light_options}>)
  endif()
  belay_reuse_headers(belay_${name} belay_headers_of_runtime)
  set_property(GLOBAL APPEND PROPERTY BELAY_RUNTIME_TARGETS belay_${name})
endfunction()

# The presets that build everything (release, asan, tsan, v2) compile up to 32 sources of a target as one file
# (CMAKE_UNITY_BUILD): each header is parsed and each template instantiated once for all of them. So two sources of a target
# define no name twice in anonymous namespaces (tests/tree/names.py finds those that the order of the sources would hide,
# so that runtime/ops is compiled so, too). A using-declaration of one source is seen by those after it in its unit, so it is
# written in a class or a function. dev, for those who edit, compiles each source by itself.

# Headers that many sources parse first are parsed once for all of them. A source uses them if it has the flags that they
# were parsed with, so all have OpenMP's and the warnings; otherwise the compiler parses them again, without a word
# (-Winvalid-pch shows why). ccache does not take precompiled headers, so a build with it does without.
set(CMAKE_PCH_WARN_INVALID OFF)
function(belay_precompile name)
  cmake_parse_arguments(A "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  target_link_libraries(${name} PRIVATE ${A_LINK})
  target_compile_options(${name} PRIVATE ${A_OPTIONS} -fopenmp)
  target_precompile_headers(${name} PRIVATE ${A_HEADERS})
endfunction()
function(belay_reuse_headers target headers)
  if(TARGET ${headers})
    target_compile_options(${target} PRIVATE -fopenmp)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# Every plugin parses these: the headers that plugin.h includes, except module.h, which depends on the plugin's name.
# Builds with a sanitizer do without. So does the build for editing, so that it finds a missing include.
set(belay_plugin_headers <belay/checkpoint.h> <belay/cluster.h> <belay/events.h> <belay/exporter.h> <belay/global_step.h>
  <belay/hook.h> <belay/init_fn.h> <belay/input.h> <belay/model.h> <belay/op.h> <belay/optimizer.h> <belay/saver.h>
  <belay/schedule.h> <belay/second_or_step_timer.h> <belay/tensor_text.h> <algorithm> <cmath> <limits>)
if(CMAKE_UNITY_BUILD AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT BELAY_SANITIZE)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/headers.cc CONTENT "\n")
  add_library(belay_headers_of_plugins OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cc)
  belay_precompile(belay_headers_of_plugins HEADERS ${belay_plugin_headers} LINK belay_sdk belay_warnings)
  add_library(belay_headers_of_runtime OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cc)
  belay_precompile(belay_headers_of_runtime
    HEADERS <algorithm> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstring> <filesystem> <fstream>
            <functional> <map> <memory> <mutex> <optional> <set> <sstream> <string> <string_view> <thread> <unordered_map>
            <utility> <variant> <vector> <nlohmann/json.hpp>
    LINK belay_warnings)
endif()
