# SPDX-License-Identifier: Apache-2.0
# cmake --install installs the host, the SDK, and the runtime for programs with their own main. The runtime's headers are
# only those below include/. plugins/ installs its plugins. Each is a component, and a package of cmake/package.cmake.
include(CMakePackageConfigHelpers)

# Host
install(TARGETS belay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT belay)
install(FILES ${CMAKE_BINARY_DIR}/share/belay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT belay)
install(FILES cmake/shell/belay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME belay
  COMPONENT belay)
install(FILES cmake/shell/_belay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT belay)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/belay COMPONENT belay PATTERN "*.sbatch" EXCLUDE)
install(PROGRAMS examples/slurm/train.sbatch DESTINATION ${CMAKE_INSTALL_DATADIR}/belay/examples/slurm COMPONENT belay)
install(FILES CHANGELOG.md CONTRIBUTING.md README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT belay)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT belay
  FILES_MATCHING PATTERN "*.md" PATTERN "*.tsv" PATTERN "*.png" PATTERN "*.svg")

# SDK
install(DIRECTORY sdk/include/belay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk FILES_MATCHING PATTERN "*.h")
install(FILES sdk/cmake/belay_add_plugin.cmake sdk/cmake/plugin.version DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay
  COMPONENT sdk)
configure_file(cmake/belay-sdk.pc.in ${CMAKE_BINARY_DIR}/belay-sdk.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/belay-sdk.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT sdk)
install(TARGETS belay_sdk belay_testing EXPORT belay-sdk-targets COMPONENT sdk)
install(EXPORT belay-sdk-targets NAMESPACE belay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay COMPONENT sdk)
set(plugins ${CMAKE_INSTALL_LIBDIR}/belay/plugins)
configure_package_config_file(cmake/belay-config.cmake.in ${CMAKE_BINARY_DIR}/belay-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay PATH_VARS plugins)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/belay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/belay-config.cmake ${CMAKE_BINARY_DIR}/belay-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay COMPONENT sdk)

# Runtime
get_property(runtime GLOBAL PROPERTY BELAY_RUNTIME_TARGETS)
add_library(belay_runtime INTERFACE)
add_library(belay::runtime ALIAS belay_runtime)
set_target_properties(belay_runtime PROPERTIES EXPORT_NAME runtime)
target_link_libraries(belay_runtime INTERFACE belay_api)
install(TARGETS belay_runtime belay_default_plugins ${runtime} EXPORT belay-runtime-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/belay COMPONENT runtime)
install(DIRECTORY runtime/include/belay runtime/testing/include/belay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT runtime)
install(FILES plugins/default_plugins.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belay COMPONENT runtime)

install(EXPORT belay-runtime-targets NAMESPACE belay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay
  COMPONENT runtime)

if(NOT BELAY_SANITIZE AND NOT BELAY_COVERAGE)
  add_subdirectory(cmake/tarball)
endif()
include(cmake/package.cmake)
