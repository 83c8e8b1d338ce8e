# What every part of the build shares: language level, warnings, and one line to declare a library,
# a program or a test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# -g1: line tables are enough for a backtrace, and gRPC objects shrink by half. Asserts stay on.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

find_program(SCANLINE_CCACHE ccache)
if(SCANLINE_CCACHE)
  # Paths count from the checkout, so that a second clone finds what the first one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${SCANLINE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Warnings as errors for our own code; scanline_generated() lifts them for generated code.
add_library(scanline_warnings INTERFACE)
target_compile_options(scanline_warnings INTERFACE
  "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-Wall;-Wextra;-Werror;-Wno-missing-field-initializers>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror,-Wno-missing-field-initializers>")
if(SCANLINE_SANITIZE)
  add_compile_options(-fsanitize=${SCANLINE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SCANLINE_SANITIZE})
endif()

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(PkgConfig REQUIRED)

# scanline_part(NAME): adds the folder NAME and tests/NAME when SCANLINE_PARTS asks for it.
# `server` is added for server_core too, `model` for checkpoint, `client` for render; their
# CMakeLists ask SCANLINE_PARTS for the rest.
function(scanline_part name)
  set(wanted ${name})
  if(name STREQUAL "server" AND "server_core" IN_LIST SCANLINE_PARTS)
    set(wanted server_core)
  endif()
  if(name STREQUAL "model" AND "checkpoint" IN_LIST SCANLINE_PARTS)
    set(wanted checkpoint)
  endif()
  if(name STREQUAL "client" AND "render" IN_LIST SCANLINE_PARTS)
    set(wanted render)
  endif()
  if(NOT wanted IN_LIST SCANLINE_PARTS OR NOT EXISTS ${CMAKE_SOURCE_DIR}/${name}/CMakeLists.txt)
    return()
  endif()
  add_subdirectory(${CMAKE_SOURCE_DIR}/${name} ${CMAKE_BINARY_DIR}/${name})
  if(SCANLINE_TESTS AND EXISTS ${CMAKE_SOURCE_DIR}/tests/${name}/CMakeLists.txt)
    find_package(GTest REQUIRED)
    include(GoogleTest)
    add_subdirectory(${CMAKE_SOURCE_DIR}/tests/${name} ${CMAKE_BINARY_DIR}/tests/${name})
  endif()
endfunction()

# scanline_library(name SRCS .. DEPS .. PRIVATE_DEPS ..): a static library, alias scanline::name.
# DEPS are what users of its headers need; PRIVATE_DEPS stay inside.
function(scanline_library name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(scanline_${name} STATIC ${arg_SRCS})
  add_library(scanline::${name} ALIAS scanline_${name})
  target_include_directories(scanline_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(scanline_${name} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS} scanline_warnings)
endfunction()

# scanline_program(name SRCS .. DEPS ..): an executable in build/<preset>/bin.
function(scanline_program name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} scanline_warnings)
endfunction()

# scanline_test(decode/sampling_plan_test DEPS .. [LABELS unit] [TIMEOUT 60] [SRCS extra.cc]): a GoogleTest
# program from the file of that name in tests/. Labels: unit (default), reference, corpus, e2e, fuzz.
# Tests find the checkout by SCANLINE_SOURCE_DIR and programs by SCANLINE_BIN_DIR.
function(scanline_test path)
  cmake_parse_arguments(arg "" "TIMEOUT" "DEPS;LABELS;SRCS;ENV" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/${path}.cc ${arg_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    SCANLINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SCANLINE_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest_main scanline_warnings)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${path}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENV}")
endfunction()

# scanline_fuzz(pth DEPS .. [SRCS extra.cc] [SEEDS folder..]): the libFuzzer program fuzz_pth from
# tests/fuzz/pth_fuzz.cc and the tests fuzz/pth and fuzz/pth.again, which start from the files of
# tests/fuzz/corpus/pth and of the SEEDS. Two halves of SCANLINE_FUZZ_SECONDS (30) each, with random
# choices of their own, make the minute a target that CI owes, and no test is longer than a minute.
add_custom_target(fuzz)
function(scanline_fuzz name)
  cmake_parse_arguments(arg "" "" "DEPS;SRCS;SEEDS" ${ARGN})
  add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cc ${arg_SRCS})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE ${arg_DEPS} scanline_warnings -fsanitize=fuzzer)
  add_dependencies(fuzz fuzz_${name})
  foreach(test ${name} ${name}.again)
    add_test(NAME fuzz/${test} COMMAND bash ${CMAKE_SOURCE_DIR}/tests/fuzz/run.sh
      $<TARGET_FILE:fuzz_${name}> ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name} ${arg_SEEDS})
    set_tests_properties(fuzz/${test} PROPERTIES LABELS fuzz)
  endforeach()
endfunction()
