# Compiler settings, third-party packages and the function that declares a room.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

# ccache and mold cut the edit-to-test time; neither changes the result.
find_program(TERN_CCACHE ccache)
if(TERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # pch_defines and time_macros let precompiled headers be cached at all.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TERN_CCACHE})
endif()
find_program(TERN_MOLD mold)
if(TERN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(simdjson REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(Snappy REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_library(CCTZ_LIBRARY cctz REQUIRED)

add_library(tern_options INTERFACE)
target_compile_options(tern_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-fcoroutines -fpch-preprocess>)
if(TERN_WARNINGS_AS_ERRORS)
  target_compile_options(tern_options INTERFACE -Werror)
endif()
# Asio is compiled once, in src/runtime/asio.cpp.
target_compile_definitions(tern_options INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_REGEX
  TERN_VERSION="${PROJECT_VERSION}")
target_include_directories(tern_options SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
target_link_libraries(tern_options INTERFACE Threads::Threads)
if(TERN_SANITIZE)
  target_compile_options(tern_options INTERFACE -fsanitize=${TERN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tern_options INTERFACE -fsanitize=${TERN_SANITIZE})
  if(TERN_SANITIZE MATCHES "undefined")
    # It looks at a vptr through a pipe, and takes each for broken in a test of a process without free descriptors.
    target_compile_options(tern_options INTERFACE -fno-sanitize=vptr)
  endif()
  if(TERN_SANITIZE MATCHES "thread")
    # Asio's fences: gcc warns of each that the sanitizer does not see them.
    target_compile_options(tern_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()

# One precompiled header of standard headers serves every room.
file(WRITE "${CMAKE_BINARY_DIR}/tern_pch.cpp" "// Carries the precompiled header that all rooms share.\n")
add_library(tern_pch OBJECT "${CMAKE_BINARY_DIR}/tern_pch.cpp")
target_link_libraries(tern_pch PRIVATE tern_options)
target_precompile_headers(tern_pch PRIVATE
  <algorithm> <array> <chrono> <cstdint> <cstring> <expected> <functional> <map> <memory> <optional>
  <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)

if(TERN_BUILD_TESTS)
  enable_testing()
  include(GoogleTest)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
if(TERN_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# tern_room(<name> [ARROWS <room>...] [LIBRARIES <target>...])
#
# Declares the library tern_<name> from src/<name>/**.cpp and its public headers include/tern/<name>/*.hpp. ARROWS are the
# rooms that its files may include, besides base; tests/layout checks each #include against them. A file's suffix says what
# it is: X.cpp belongs to the library, X_test.cpp to tern_<name>_test, X_bench.cpp to tern_<name>_bench, and each X_fuzz.cpp
# is a libFuzzer target of its own.
function(tern_room name)
  cmake_parse_arguments(ROOM "" "" "ARROWS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  set(tests ${sources})
  set(benches ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  file(GLOB public CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/include/tern/${name}/*.hpp")

  set(scope PUBLIC)
  if(NOT sources)
    set(scope INTERFACE)
    add_library(tern_${name} INTERFACE)
  else()
    add_library(tern_${name} STATIC ${sources})
    target_precompile_headers(tern_${name} REUSE_FROM tern_pch)
  endif()
  target_include_directories(tern_${name} ${scope} "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include")
  target_link_libraries(tern_${name} ${scope} tern_options ${ROOM_LIBRARIES})
  if(NOT name STREQUAL base)
    target_link_libraries(tern_${name} ${scope} tern_base)
  endif()
  foreach(arrow IN LISTS ROOM_ARROWS)
    target_link_libraries(tern_${name} ${scope} tern_${arrow})
  endforeach()
  if(public)
    target_sources(tern_${name} ${scope} FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/include" FILES ${public})
  endif()

  if(TERN_BUILD_TESTS AND tests)
    add_executable(tern_${name}_test ${tests})
    target_precompile_headers(tern_${name}_test REUSE_FROM tern_pch)
    target_link_libraries(tern_${name}_test PRIVATE tern_${name} GTest::gtest GTest::gmock GTest::gtest_main rapidcheck)
    gtest_discover_tests(tern_${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
  endif()
  if(TERN_BUILD_BENCHMARKS AND benches)
    add_executable(tern_${name}_bench ${benches})
    target_link_libraries(tern_${name}_bench PRIVATE tern_${name} benchmark::benchmark benchmark::benchmark_main)
  endif()
  if(TERN_BUILD_FUZZERS)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(stem "${fuzzer}" NAME_WE)
      add_executable(${stem} "${fuzzer}")
      target_link_libraries(${stem} PRIVATE tern_${name})
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
