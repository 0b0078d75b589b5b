# SPDX-License-Identifier: Apache-2.0
# The tarball has the libraries that belay::runtime links. A program with its own main needs no others installed. Their
# headers are needed to build Belay, not to use it.
get_filename_component(_belay_libraries "${CMAKE_CURRENT_LIST_DIR}/../../belay/libraries" ABSOLUTE)
function(_belay_library target file)
  if(NOT TARGET ${target})
    file(GLOB found "${_belay_libraries}/${file}.so.*")
    add_library(${target} SHARED IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${found}")
    # The plugins' libraries are in the same folder. It becomes the program's DT_RPATH, and each library finds its own.
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_OPTIONS
      "-Wl,-rpath-link,${_belay_libraries}:${_belay_libraries}/inner" -Wl,--disable-new-dtags)
  endif()
endfunction()
_belay_library(Boost::program_options libboost_program_options)
_belay_library(DNNL::dnnl libdnnl)
_belay_library(protobuf::libprotobuf libprotobuf)
_belay_library(fmt::fmt libfmt)
_belay_library(PNG::PNG libpng16)
foreach(target Boost::headers Eigen3::Eigen tomlplusplus::tomlplusplus nlohmann_json::nlohmann_json)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
  endif()
endforeach()
