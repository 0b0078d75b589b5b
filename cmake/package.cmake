# SPDX-License-Identifier: Apache-2.0
# `./dev package` makes these Debian packages: belay (host, plugins, documentation), belay-openmpi and belay-mpich (a
# plugin each, for systems with that MPI), belay-sdk-dev (for authors of plugins) and belay-runtime-dev (for programs
# with their own main).
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME belay)
set(CPACK_PACKAGE_CONTACT "Belay maintainers <maintainers@belay.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL belay openmpi mpich sdk runtime)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Each release of Debian needs separate packages, because they depend on its libraries. They upgrade with the system:
# 0.2.0-1 of Debian 12 is older than 0.2.0-1+deb13 of Debian 13.
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
cmake_host_system_information(RESULT system QUERY DISTRIB_INFO)
if(NOT "${system_ID} ${system_VERSION_ID}" STREQUAL "debian 12")
  if(system_ID STREQUAL "debian")
    set(system_ID deb)
  endif()
  string(APPEND CPACK_DEBIAN_PACKAGE_RELEASE "+${system_ID}${system_VERSION_ID}")
endif()
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_BELAY_PACKAGE_NAME belay)
set(CPACK_DEBIAN_BELAY_PACKAGE_SECTION science)
set(CPACK_DEBIAN_BELAY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_BELAY_DESCRIPTION "training runtime made of plugins
A manifest in TOML names the input, the model, the optimizer and the hooks of
a training; each is a plugin in a shared library. A run that is killed goes on
from its newest checkpoint, with the bits that it would have had.
.
This package has the program belay, its plugins and its documentation.")

# Packages of one build go together: a plugin's boundary and the runtime's headers are those of that version.
set(this_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
foreach(mpi "openmpi;Open MPI;openmpi-bin" "mpich;MPICH;mpich")
  list(GET mpi 0 component)
  list(GET mpi 1 name)
  list(GET mpi 2 launcher)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME belay-${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "belay (= ${this_version})")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS ${launcher})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "ranks of the training runtime belay joined by ${name}
Processes that train one model together exchange gradients by ${name}, which
uses the fast networks of clusters.
.
This package has the plugin mpi_${component}.")
endforeach()

set(CPACK_DEBIAN_SDK_PACKAGE_NAME belay-sdk-dev)
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_SDK_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SDK_PACKAGE_RECOMMENDS libxxhash-dev)  # of belay/state_digest.h alone
# It does without belay, but a belay of another version refuses what is built with it.
set(CPACK_DEBIAN_SDK_PACKAGE_BREAKS "belay (<< ${this_version}), belay (>> ${this_version})")
set(CPACK_DEBIAN_SDK_DESCRIPTION "headers for plugins of the training runtime belay
Hooks, models, inputs, optimizers and other plugins of belay are written
against these headers, in C++17 or over the C ABI in any language, and are
tested with the drivers that come with them.
.
This package has the headers, a CMake function and a pkg-config file.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME belay-runtime-dev)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libdevel)
set(opencl)
if(belay_dnnl_opencl)
  set(opencl ", ocl-icd-opencl-dev")
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "belay-sdk-dev (= ${this_version}), libboost-dev, libboost-program-options-dev, \
libeigen3-dev, libtomlplusplus-dev, libdnnl-dev${opencl}, libprotobuf-dev, libfmt-dev, nlohmann-json3-dev, \
libisal-dev, libre2-dev, libxxhash-dev, libpng-dev, zlib1g-dev, libleveldb-dev, libzip-dev")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "training runtime belay for programs with a main of their own
A program builds its graph and model in C++ and trains them with belay's
sessions, estimators and hooks, or runs a manifest, without the program belay.
.
This package has the static libraries and their headers.")

# Every package has its authors, its licence and its changes.
set(debian ${CMAKE_BINARY_DIR}/debian)
configure_file(cmake/debian/copyright ${debian}/copyright COPYONLY)
configure_file(cmake/debian/changelog.in ${debian}/changelog.Debian @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(documentation ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${debian}/copyright ${debian}/changelog.Debian DESTINATION ${documentation} COMPONENT ${component}
    EXCLUDE_FROM_ALL)
  install(FILES cmake/debian/${component}.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    RENAME ${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/compress.cmake)

include(CPack)
