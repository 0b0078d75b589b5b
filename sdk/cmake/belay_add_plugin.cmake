# SPDX-License-Identifier: Apache-2.0
# belay_add_plugin(name SOURCES a.cc ... [LINK lib ...] [CXX_STANDARD 17])
#
# Compiles the sources once and makes
#   <name>.so            the plugin, which exports belay_module_v0 and nothing else (target: name)
#   <name>_linked        an object library whose table is belay_module_<name>, for embedding and for the plugin's own test
#
# The plugin links with -z defs: an undefined symbol is an error here, not when it is loaded.
set(BELAY_PLUGIN_VERSION_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/plugin.version)

function(belay_add_plugin name)
  cmake_parse_arguments(A "" "CXX_STANDARD" "SOURCES;LINK" ${ARGN})
  if(NOT A_SOURCES)
    message(FATAL_ERROR "belay_add_plugin(${name}): SOURCES are missing")
  endif()
  string(REPLACE "-" "_" symbol ${name})
  add_library(${name}_linked OBJECT ${A_SOURCES})
  target_compile_definitions(${name}_linked PRIVATE BELAY_MODULE_NAME=belay_module_${symbol})
  target_link_libraries(${name}_linked PUBLIC belay::sdk ${A_LINK})
  set_target_properties(${name}_linked PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(A_CXX_STANDARD)
    set_target_properties(${name}_linked PROPERTIES CXX_STANDARD ${A_CXX_STANDARD})
  endif()

  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_linked>)
  target_link_libraries(${name} PRIVATE ${A_LINK})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" LINKER_LANGUAGE CXX
    INSTALL_RPATH "$ORIGIN" LINK_DEPENDS ${BELAY_PLUGIN_VERSION_SCRIPT})
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${BELAY_PLUGIN_VERSION_SCRIPT} -Wl,-z,now -Wl,-z,nodelete -Wl,--as-needed -Wl,--exclude-libs,ALL)
  if(NOT BELAY_SANITIZE AND NOT "${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_property(GLOBAL APPEND PROPERTY BELAY_PLUGIN_TARGETS ${name})
endfunction()

# belay_add_plugin_test(name SOURCES a_test.cc ... [LINK lib ...])
#
# The GoogleTest program <name>_test of a plugin that belay_add_plugin made. It takes its module from
# belay::testing::module_under_test, and ctest runs it twice: with the plugin linked in (<name>_test), and with the
# library file (<name>_test.so). Wants find_package(GTest) and enable_testing().
function(belay_add_plugin_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  if(NOT A_SOURCES)
    message(FATAL_ERROR "belay_add_plugin_test(${name}): SOURCES are missing")
  endif()
  add_executable(${name}_test ${A_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${name}_linked belay::testing ${A_LINK} GTest::gmock GTest::gtest_main)
  add_dependencies(${name}_test ${name})
  add_test(NAME ${name}_test COMMAND ${name}_test)
  add_test(NAME ${name}_test.so COMMAND ${name}_test)
  set_tests_properties(${name}_test.so PROPERTIES ENVIRONMENT BELAY_PLUGIN_UNDER_TEST=$<TARGET_FILE:${name}>)
endfunction()
