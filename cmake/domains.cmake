# domains: scalar math compiled for every target that a compiler is found for, as programs that print the bits of each
# function (tests/domains/bits.cpp), and math_sweep, which takes every float. Built by name, never by default.
set(domain_sources tests/domains/bits.cpp tests/domains/bits_elementary.cpp tests/domains/bits_special.cpp
    tests/domains/bits_two.cpp tests/domains/bits_iterating.cpp tests/domains/bits_scalar.cpp)
# emulation is the base instruction set, with neither AVX nor FMA.
foreach(target IN ITEMS avx2:x86-64-v3 avx512:x86-64-v4 emulation:x86-64)
  string(REPLACE ":" ";" target ${target})
  list(GET target 0 name)
  list(GET target 1 march)
  add_executable(domain_bits_${name} EXCLUDE_FROM_ALL ${domain_sources})
  target_include_directories(domain_bits_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(domain_bits_${name} PRIVATE -march=${march})
  list(APPEND domain_programs domain_bits_${name})
endforeach()
target_compile_options(domain_bits_avx512 PRIVATE -Wno-maybe-uninitialized)  # GCC 12 warns about its own header
target_link_options(domain_bits_emulation PRIVATE -static)  # an emulator of a plainer processor runs it

find_program(AARCH64_CXX aarch64-linux-gnu-g++)
if(AARCH64_CXX)
  set(neon ${CMAKE_BINARY_DIR}/neon)
  set(objects)
  foreach(source IN LISTS domain_sources)
    get_filename_component(stem ${source} NAME_WE)
    set(object ${neon}/${stem}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory ${neon}
      COMMAND ${CCACHE} ${AARCH64_CXX} -std=gnu++20 -O2 -ffp-contract=off -fno-math-errno -Wno-psabi -I${CMAKE_SOURCE_DIR}
              -MD -MF ${object}.d -MT ${object} -c ${CMAKE_SOURCE_DIR}/${source} -o ${object})
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/domain_bits_neon DEPENDS ${objects} VERBATIM
    COMMAND ${AARCH64_CXX} -static ${objects} -o ${CMAKE_BINARY_DIR}/domain_bits_neon)
  list(APPEND domain_programs ${CMAKE_BINARY_DIR}/domain_bits_neon)
else()
  message(STATUS "aarch64-linux-gnu-g++ is not there: the math is not compiled for NEON")
endif()
add_custom_target(domains DEPENDS ${domain_programs})

add_executable(math_sweep EXCLUDE_FROM_ALL tests/domains/sweep.cpp tests/domains/sweep_elementary.cpp
  tests/domains/sweep_special.cpp tests/domains/sweep_iterating.cpp)
target_include_directories(math_sweep PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(math_sweep PRIVATE Threads::Threads)
