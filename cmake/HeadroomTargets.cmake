# One function per kind of target. A folder's CMakeLists.txt then only lists its files.

set(HEADROOM_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion)
if(HEADROOM_WERROR)
  list(APPEND HEADROOM_WARNINGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's plain -Wshadow also warns of a scoped enumerator with the name of a global constant, which hides nothing.
  # GCC 12 reports overlapping copies for any "literal" + std::string (GCC bug 105651).
  list(APPEND HEADROOM_WARNINGS -Wshadow=local -Wno-restrict)
  if(HEADROOM_UNITY)
    # GCC first collects garbage at twice this value, 1 GB. Saves 9 to 15 % of the compile time; a compiler takes up to
    # 260 MB more.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
    # In a batch, GCC warns as if a class with members of file-local types came from a header.
    list(APPEND HEADROOM_WARNINGS $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
elseif(NOT HEADROOM_UNITY)
  # In a batch, Clang also warns of a local variable with the name of another file's helper.
  list(APPEND HEADROOM_WARNINGS -Wshadow)
endif()

function(headroom_target_defaults target)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
  target_compile_options(${target} PRIVATE ${HEADROOM_WARNINGS})
  if(HEADROOM_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(HEADROOM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HEADROOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${HEADROOM_SANITIZE})
  endif()
endfunction()

# headroom_compile_in_batches(TARGET N): compiles N files together if HEADROOM_UNITY is on. "" means CMake's default, 8.
function(headroom_compile_in_batches target size)
  set(together ${HEADROOM_UNITY})
  if(size STREQUAL "1")
    set(together OFF)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${together})
  if(size)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# headroom_compile_quickly(TARGET): uses -O1 in a release, for code whose speed does not matter. Saves a third of the
# compile time.
function(headroom_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# headroom_foreign_bytes_test(TEST): makes the gate run TEST under sanitizers. TEST names both a target and a test.
add_custom_target(foreign_bytes_tests)
function(headroom_foreign_bytes_test test)
  add_dependencies(foreign_bytes_tests ${test})
  set_property(TEST ${test} APPEND PROPERTY LABELS foreign_bytes)
endfunction()

# headroom_library(NAME SOURCES a.cc... [DEPS targets...] [TESTS a_test.cc...] [TEST_DEPS targets...]
#                  [BENCHES a_bench.cc...] [FUZZERS b_fuzz.cc...] [BATCH N] [FOREIGN_BYTES] [TEXT_ONLY])
#
# Makes these targets:
#
#   headroom_NAME  the static library
#   NAME_test      the unit tests (GoogleTest, RapidCheck and TEST_DEPS); ctest runs them with the label `unit`
#   NAME_bench     the benchmarks (Google Benchmark); not under a sanitizer
#   fuzz_b         one libFuzzer program per b_fuzz.cc, with HEADROOM_FUZZ; tools/test runs it on the seeds in
#                  tests/fuzz/corpus/fuzz_b/
#
# Makes no tests and no benchmarks without BUILD_TESTING.
#
#   BATCH N        compiles N files together (default: 8) if HEADROOM_UNITY is on; 1 compiles file by file
#   FOREIGN_BYTES  the code parses untrusted input: traces, requests, messages. The gate tests it under sanitizers
#                  (target `foreign_bytes_tests`, label `foreign_bytes`). tools/test --full tests all code under them
#   TEXT_ONLY      the code only writes text: calls headroom_compile_quickly()
function(headroom_library name)
  cmake_parse_arguments(ARG "FOREIGN_BYTES;TEXT_ONLY" "BATCH" "SOURCES;DEPS;TESTS;TEST_DEPS;BENCHES;FUZZERS" ${ARGN})
  add_library(headroom_${name} STATIC ${ARG_SOURCES})
  headroom_target_defaults(headroom_${name})
  target_link_libraries(headroom_${name} PUBLIC ${ARG_DEPS})
  headroom_compile_in_batches(headroom_${name} "${ARG_BATCH}")
  if(ARG_TEXT_ONLY)
    headroom_compile_quickly(headroom_${name})
  endif()
  if(ARG_TESTS AND BUILD_TESTING)
    add_executable(${name}_test ${ARG_TESTS})
    headroom_target_defaults(${name}_test)
    # Files can compile together, because each file keeps its helpers in its own namespace.
    headroom_compile_in_batches(${name}_test 12)
    target_link_libraries(${name}_test PRIVATE headroom_${name} ${ARG_TEST_DEPS} GTest::gtest_main ${RAPIDCHECK_LIBRARY})
    add_test(NAME ${name}_test COMMAND ${name}_test)
    # Halves the compile time of the tests. The library stays optimized.
    target_compile_options(${name}_test PRIVATE -O0 -U_FORTIFY_SOURCE)  # Fortifying needs optimization.
    set_tests_properties(${name}_test PROPERTIES ENVIRONMENT "HEADROOM_SOURCE_DIR=${PROJECT_SOURCE_DIR}" LABELS unit)
    if(ARG_FOREIGN_BYTES)
      headroom_foreign_bytes_test(${name}_test)
    endif()
  endif()
  if(ARG_BENCHES AND BUILD_TESTING AND NOT HEADROOM_SANITIZE)
    add_executable(${name}_bench ${ARG_BENCHES})
    headroom_target_defaults(${name}_bench)
    target_link_libraries(${name}_bench PRIVATE headroom_${name} benchmark::benchmark_main)
  endif()
  if(HEADROOM_FUZZ)
    foreach(source IN LISTS ARG_FUZZERS)
      get_filename_component(fuzzer ${source} NAME_WE)
      string(REGEX REPLACE "(.*)_fuzz$" "fuzz_\\1" fuzzer ${fuzzer})
      add_executable(${fuzzer} ${source})
      headroom_target_defaults(${fuzzer})
      target_link_libraries(${fuzzer} PRIVATE headroom_${name})
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzzers ${fuzzer})
    endforeach()
  endif()
endfunction()
