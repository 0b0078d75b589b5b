# SPDX-License-Identifier: Apache-2.0
# cmake --install: the host, the SDK, and the runtime for programs with a main of their own: of its headers those below
# include/ alone. Its plugins: plugins/.
include(CMakePackageConfigHelpers)

install(TARGETS belay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# SDK
install(DIRECTORY sdk/include/belay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES sdk/cmake/belay_add_plugin.cmake sdk/cmake/plugin.version DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay)
configure_file(cmake/belay-sdk.pc.in ${CMAKE_BINARY_DIR}/belay-sdk.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/belay-sdk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Runtime
get_property(runtime GLOBAL PROPERTY BELAY_RUNTIME_TARGETS)
add_library(belay_runtime INTERFACE)
add_library(belay::runtime ALIAS belay_runtime)
set_target_properties(belay_runtime PROPERTIES EXPORT_NAME runtime)
target_link_libraries(belay_runtime INTERFACE belay_api)
install(TARGETS belay_sdk belay_testing belay_runtime belay_default_plugins ${runtime} EXPORT belay-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/belay)
install(DIRECTORY runtime/include/belay runtime/testing/include/belay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES plugins/default_plugins.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belay)

install(EXPORT belay-targets NAMESPACE belay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay)
set(plugins ${CMAKE_INSTALL_LIBDIR}/belay/plugins)
configure_package_config_file(cmake/belay-config.cmake.in ${CMAKE_BINARY_DIR}/belay-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay PATH_VARS plugins)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/belay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/belay-config.cmake ${CMAKE_BINARY_DIR}/belay-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/belay)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/belay)
install(FILES CHANGELOG.md LICENSE README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES sdk/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/sdk)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.tsv")
