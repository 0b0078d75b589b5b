# SPDX-License-Identifier: Apache-2.0
# Between staging and packing: Debian wants manual pages and changelogs compressed, without a time in them, and the
# project's own called changelog.gz. The entry of changelog.Debian gets its time, SOURCE_DATE_EPOCH if that is set.
string(TIMESTAMP when "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(GLOB_RECURSE files "${CPACK_TEMPORARY_DIRECTORY}/*/belay.1" "${CPACK_TEMPORARY_DIRECTORY}/*/changelog.Debian"
  "${CPACK_TEMPORARY_DIRECTORY}/*/CHANGELOG.md")
foreach(file ${files})
  get_filename_component(folder ${file} DIRECTORY)
  if(file MATCHES "/changelog.Debian$")
    file(READ ${file} text)
    string(REPLACE "WHEN" "${when}" text "${text}")
    file(WRITE ${file} "${text}")
  endif()
  if(file MATCHES "/CHANGELOG.md$")
    file(RENAME ${file} ${folder}/changelog)
    set(file ${folder}/changelog)
  endif()
  execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
