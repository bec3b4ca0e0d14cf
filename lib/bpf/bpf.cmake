# Whether the bpf source is built: PROCTALLY_WITH_BPF, and with what.
set(PROCTALLY_BPF AUTO CACHE STRING "Build the bpf source: ON, OFF, or AUTO (where its tools are)")
set_property(CACHE PROPERTY PROCTALLY_BPF PROPERTY STRINGS ON OFF AUTO)

set(PROCTALLY_WITH_BPF FALSE)
string(TOUPPER "${PROCTALLY_BPF}" proctally_bpf)
if(NOT proctally_bpf MATCHES "^(ON|OFF|AUTO)$")
  message(FATAL_ERROR "PROCTALLY_BPF is ON, OFF or AUTO, and not ${PROCTALLY_BPF}")
endif()
if(proctally_bpf STREQUAL "OFF")
  message(STATUS "bpf source: off")
  return()
endif()

find_program(PROCTALLY_CLANG NAMES clang clang-14)
find_program(PROCTALLY_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin)
find_program(PROCTALLY_LLVM_STRIP NAMES llvm-strip llvm-strip-14)
pkg_check_modules(BPF IMPORTED_TARGET libbpf>=1.1)

set(missing)
foreach(tool CLANG BPFTOOL LLVM_STRIP)
  if(NOT PROCTALLY_${tool})
    list(APPEND missing ${tool})
  endif()
endforeach()
if(NOT BPF_FOUND)
  list(APPEND missing libbpf)
endif()

# Some distributions' bpftool wants another package for the kernel that runs, and not every clang
# knows the target.
if(NOT missing)
  execute_process(COMMAND ${PROCTALLY_BPFTOOL} version
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(NOT result EQUAL 0)
    list(APPEND missing "a bpftool that runs")
  endif()
  execute_process(
    COMMAND ${PROCTALLY_CLANG} -target bpf -c -x c /dev/null -o ${CMAKE_CURRENT_BINARY_DIR}/bpf-try.o
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(NOT result EQUAL 0)
    list(APPEND missing "a clang that compiles for bpf")
  endif()
endif()

# As the kernel's tracing headers call them.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(PROCTALLY_BPF_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(PROCTALLY_BPF_ARCH arm64)
else()
  list(APPEND missing "a port to ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# The kernel's types, where the distribution keeps them per architecture.
set(PROCTALLY_BPF_SYSTEM_INCLUDE /usr/include)
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(PROCTALLY_BPF_SYSTEM_INCLUDE /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
endif()

if(NOT missing)
  set(PROCTALLY_WITH_BPF TRUE)
  message(STATUS "bpf source: on")
elseif(proctally_bpf STREQUAL "ON")
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "bpf source: missing ${missing}")
else()
  list(JOIN missing ", " missing)
  message(STATUS "bpf source: off, missing ${missing}")
endif()
