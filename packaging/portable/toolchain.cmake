# Builds for another target with the compilers and libraries that packaging/portable/libraries made:
#
#     cmake -S . -B FOLDER --toolchain packaging/portable/toolchain.cmake -DHEADROOM_LIBRARIES=... [-DHEADROOM_SYSTEM=Darwin
#           -DHEADROOM_PROCESSOR=aarch64]
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEADROOM_LIBRARIES HEADROOM_SYSTEM HEADROOM_PROCESSOR)
if(HEADROOM_SYSTEM)
  set(CMAKE_SYSTEM_NAME ${HEADROOM_SYSTEM})
  set(CMAKE_SYSTEM_PROCESSOR ${HEADROOM_PROCESSOR})
endif()
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_LAUNCHER "" CACHE STRING "zig keeps its own cache of objects")
endforeach()
set(CMAKE_C_COMPILER ${HEADROOM_LIBRARIES}/bin/cc)
set(CMAKE_CXX_COMPILER ${HEADROOM_LIBRARIES}/bin/c++)
set(CMAKE_AR ${HEADROOM_LIBRARIES}/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${HEADROOM_LIBRARIES}/bin/ranlib CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH ${HEADROOM_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${HEADROOM_LIBRARIES}/lib/pkgconfig)
set(PKG_CONFIG_ARGN --static)
set(OPENSSL_USE_STATIC_LIBS TRUE)
set(Python_INCLUDE_DIR ${HEADROOM_LIBRARIES}/include/python3.11)
# zig writes debug information by default.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_INIT -g0)
endforeach()
if(HEADROOM_SYSTEM STREQUAL "Darwin")
  # zig's <float.h> of macOS lacks it.
  string(APPEND CMAKE_CXX_FLAGS_INIT " -DFLT_RADIX=__FLT_RADIX__")
endif()
foreach(kind EXE MODULE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT -s)
endforeach()
if(NOT HEADROOM_SYSTEM STREQUAL "Darwin")  # There it is the default.
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -pie")
endif()
