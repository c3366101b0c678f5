# ptx: every card's text as PTX, one file for each card header (ninja ptx). Only where nvcc is found, never by default.
find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
if(NVCC)
  set(units)
  fb_card_units(units BACKEND cuda SUFFIX cu GUEST)
  set(texts)
  foreach(unit IN LISTS units)
    get_filename_component(stem ${unit} NAME_WE)
    set(text ${CMAKE_BINARY_DIR}/ptx/${stem}.ptx)
    # The suppressed remarks are about functions that a constant expression may call on either side, and GCC's attributes.
    add_custom_command(OUTPUT ${text} DEPENDS ${unit} DEPFILE ${text}.d VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/ptx
      COMMAND ${NVCC} -std=c++20 --expt-relaxed-constexpr -fmad=false -arch=sm_80 -I${CMAKE_SOURCE_DIR} --ptx ${unit} -o ${text}
              -MD -MF ${text}.d -MT ${text} -diag-suppress 1835,20011,20012,20013,20014,20015)
    list(APPEND texts ${text})
  endforeach()
  add_custom_target(ptx DEPENDS ${texts})
endif()
