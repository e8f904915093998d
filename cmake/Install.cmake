# Installs files with `cmake --install`, and makes the Debian packages (docs/install.md). Included last, because it
# queries targets.
#
# All paths are relative to the prefix, and none is compiled in. The program finds its payload relative to its own
# location (src/cli/terminal/payload.cc), so a prefix may be moved. There are three components, each a Debian package:
# `headroom` (program, libraries that it loads into programs, Python module, manual), `headroom-dev` (headers),
# `headroom-mpi` (the module that needs MPI).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(payload lib/headroom)  # Not CMAKE_INSTALL_LIBDIR: private files, where payload.cc looks.
set(made ${PROJECT_BINARY_DIR}/install)

# --- the program, and what it loads ---
install(TARGETS headroom RUNTIME DESTINATION bin COMPONENT headroom)
if(TARGET headroom_cupti)
  install(TARGETS headroom_cupti LIBRARY DESTINATION ${payload} COMPONENT headroom)
endif()
if(TARGET headroom_mpi)
  install(TARGETS headroom_mpi LIBRARY DESTINATION ${payload} COMPONENT headroom-mpi)
endif()
if(TARGET headroom_hooks)
  install(DIRECTORY python/headroom DESTINATION ${payload}/python COMPONENT headroom
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN __pycache__ EXCLUDE)
endif()
if(TARGET _timer)
  install(TARGETS _timer LIBRARY DESTINATION ${payload}/python/headroom COMPONENT headroom)
endif()
if(TARGET headroom_engine)
  install(TARGETS headroom_engine LIBRARY DESTINATION ${payload}/python/headroom COMPONENT headroom)
endif()

# --- manual pages and completion, which the program writes itself ---
if(NOT CMAKE_CROSSCOMPILING)
  set(stamp ${made}/written)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}/man1 ${made}/completion
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/completion
    COMMAND headroom man --all ${made}/man1
    COMMAND sh -c "gzip -9n \"$1\"/*.1" sh ${made}/man1
    COMMAND headroom completion bash > ${made}/completion/headroom
    COMMAND headroom completion zsh > ${made}/completion/_headroom
    COMMAND headroom completion fish > ${made}/completion/headroom.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS headroom
    COMMENT "Writing manual pages and completion"
    VERBATIM)
  add_custom_target(headroom_manual ALL DEPENDS ${stamp})
  install(DIRECTORY ${made}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT headroom)
  install(FILES ${made}/completion/headroom DESTINATION share/bash-completion/completions COMPONENT headroom)
  install(FILES ${made}/completion/headroom.fish DESTINATION share/fish/vendor_completions.d COMPONENT headroom)
  # zsh searches site-functions, but Debian reserves the folder in /usr for other packages.
  install(FILES ${made}/completion/_headroom DESTINATION share/zsh/site-functions COMPONENT zsh)
  install(FILES ${made}/completion/_headroom DESTINATION share/zsh/vendor-completions COMPONENT headroom EXCLUDE_FROM_ALL)
endif()

# --- documents ---
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT headroom)
if(HEADROOM_LIBRARIES)  # Of the libraries inside the program (packaging/portable/).
  install(DIRECTORY ${HEADROOM_LIBRARIES}/licences DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT headroom)
endif()
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT headroom)
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)  # Debian uses other names.

# --- the headers, for find_package(Headroom) and pkg-config ---
add_library(headroom_timer INTERFACE)
set_target_properties(headroom_timer PROPERTIES EXPORT_NAME timer)
target_link_libraries(headroom_timer INTERFACE Threads::Threads ${CMAKE_DL_LIBS})  # gpu_timer.hpp, before glibc 2.34.
target_include_directories(headroom_timer INTERFACE $<INSTALL_INTERFACE:include>)
install(TARGETS headroom_timer EXPORT headroom_timer)
install(DIRECTORY include/headroom DESTINATION include COMPONENT headroom-dev)
# Uses share/ instead of lib/, because headers do not depend on the machine.
set(config share/cmake/Headroom)
install(EXPORT headroom_timer FILE HeadroomTargets.cmake NAMESPACE Headroom:: DESTINATION ${config} COMPONENT headroom-dev)
configure_package_config_file(cmake/HeadroomConfig.cmake.in ${made}/HeadroomConfig.cmake INSTALL_DESTINATION ${config})
write_basic_package_version_file(${made}/HeadroomConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${made}/HeadroomConfig.cmake ${made}/HeadroomConfigVersion.cmake DESTINATION ${config} COMPONENT headroom-dev)
configure_file(cmake/headroom.pc.in ${made}/headroom.pc @ONLY)
install(FILES ${made}/headroom.pc DESTINATION share/pkgconfig COMPONENT headroom-dev)

# --- Debian packages: `cpack -G DEB` ---
find_program(GZIP gzip REQUIRED)
execute_process(COMMAND ${GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${made}/changelog.gz)
execute_process(COMMAND ${GZIP} -9nc ${PROJECT_SOURCE_DIR}/packaging/debian/changelog OUTPUT_FILE ${made}/changelog.Debian.gz)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS CHANGELOG.md packaging/debian/changelog)
foreach(package headroom headroom-dev headroom-mpi)
  install(FILES packaging/debian/copyright ${made}/changelog.gz ${made}/changelog.Debian.gz
    DESTINATION share/doc/${package} COMPONENT ${package} EXCLUDE_FROM_ALL)
endforeach()
# `import headroom` finds the files that are installed once, below lib/headroom.
file(MAKE_DIRECTORY ${made}/python3)
file(CREATE_LINK ../../headroom/python/headroom ${made}/python3/headroom SYMBOLIC)
install(FILES ${made}/python3/headroom DESTINATION lib/python3/dist-packages COMPONENT headroom EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_VENDOR Headroom)
set(CPACK_PACKAGE_CONTACT "Headroom maintainers <maintainers@headroom.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL headroom headroom-dev)
if(TARGET headroom_mpi)
  list(APPEND CPACK_COMPONENTS_ALL headroom-mpi)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_HEADROOM_PACKAGE_NAME headroom)
set(CPACK_DEBIAN_HEADROOM_PACKAGE_SECTION devel)
if(HEADROOM_LIBRARIES)
  # A portable build (packaging/). dpkg-shlibdeps would require the glibc of this machine, whose libdl is part of libc.
  set(CPACK_DEBIAN_HEADROOM_PACKAGE_DEPENDS "libc6 (>= 2.28)")
else()
  set(CPACK_DEBIAN_HEADROOM_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_HEADROOM_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_HEADROOM_PACKAGE_SUGGESTS "headroom-dev, headroom-mpi, python3-numpy")
set(CPACK_COMPONENT_HEADROOM_DESCRIPTION "profiler of deep-learning jobs
Shows where the time of a training step goes and what a change would save. Reads
traces of PyTorch's profiler, and makes its own recordings.
.
The Python module measures inside a program; its replays require numpy.")

set(CPACK_DEBIAN_HEADROOM-DEV_PACKAGE_NAME headroom-dev)
set(CPACK_DEBIAN_HEADROOM-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_HEADROOM-DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_HEADROOM-DEV_PACKAGE_SUGGESTS headroom)
set(CPACK_COMPONENT_HEADROOM-DEV_DESCRIPTION "region timers for C and C++, headers only
Times regions and steps of a program, on the host and on a GPU, and keeps
statistics. headroom record writes regions, steps, marks and counters into a
recording.
.
Includes files for CMake and pkg-config; there is nothing to link.")

set(CPACK_DEBIAN_HEADROOM-MPI_PACKAGE_NAME headroom-mpi)
set(CPACK_DEBIAN_HEADROOM-MPI_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_HEADROOM-MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_HEADROOM-MPI_PACKAGE_DEPENDS "headroom (= ${PROJECT_VERSION}-1)")
set(CPACK_COMPONENT_HEADROOM-MPI_DESCRIPTION "several processes for one command of Headroom
The module with which mpirun headroom report shares the work among processes,
on one machine or many.")
include(CPack)
