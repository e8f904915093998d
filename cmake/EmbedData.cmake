# Builds data files into a program, so that one binary runs everywhere.
#
# headroom_embed(TARGET LIST_NAME files...)
#
# Adds to TARGET a generated source, and makes "embedded/list_name.h", which declares
#
#     namespace headroom {
#     std::span<const NamedText> ListName();  // In the order given here; see base/named_text.h.
#     }
#
# The next build embeds a changed file again. For all files of a folder:
#
#     file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/devices/*.toml)
#     headroom_embed(headroom_cost DeviceFiles ${files})
#
# The build also runs this file as a script (cmake -P), which writes the source. The second half is that script.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(headroom_embed target list_name)
    if(NOT ARGN)
      message(FATAL_ERROR "headroom_embed(${target} ${list_name}): no files; does the pattern match any?")
    endif()
    set(paths ${ARGN})
    list(TRANSFORM paths PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
    string(REGEX REPLACE "([a-z0-9])([A-Z])" "\\1_\\2" header ${list_name})
    string(TOLOWER ${header} header)
    set(output ${PROJECT_BINARY_DIR}/generated/embedded/${header})
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    # Writes the header only when it changes. New content of a data file then recompiles only the generated source.
    file(CONFIGURE OUTPUT ${output}.h @ONLY CONTENT [[
// Written by cmake/EmbedData.cmake; changes here are lost.
#pragma once

#include <span>

#include "base/named_text.h"

namespace headroom {

std::span<const NamedText> @list_name@();

}  // namespace headroom
]])
    add_custom_command(
      OUTPUT ${output}.cc
      COMMAND ${CMAKE_COMMAND} -DLIST_NAME=${list_name} -DHEADER=embedded/${header}.h -DOUTPUT=${output}.cc
              -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${paths}" -P ${script}
      DEPENDS ${paths} ${script}
      COMMENT "Embedding ${list_name}"
      VERBATIM)
    target_sources(${target} PRIVATE ${output}.cc)
    # The standard guarantees literals of only 64 KiB, and -Wpedantic warns. GCC and Clang have no such limit.
    set_source_files_properties(${output}.cc PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  endfunction()
  return()
endif()

set(entries "")
foreach(path IN LISTS FILES)
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${ROOT} OUTPUT_VARIABLE name)
  # Writes every byte as \xNN, 32 bytes per line. This keeps any content, and compilers read literals faster than
  # arrays.
  file(READ ${path} hex HEX)
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(................................................................)" "\\1\"\n     \"" literal "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" literal "${literal}")
  string(APPEND entries "    {\"${name}\",\n     {\"${literal}\", ${size}}},\n")
endforeach()

file(WRITE ${OUTPUT} "// Written by cmake/EmbedData.cmake; changes here are lost.
#include \"${HEADER}\"

namespace headroom {
namespace {

constexpr NamedText kFiles[] = {
${entries}};

}  // namespace

std::span<const NamedText> ${LIST_NAME}() { return kFiles; }

}  // namespace headroom
")
