# fb_card_units(OUT BACKEND cpu)
#
# Writes one translation unit per card header of ops/*/ into the build folder and appends their paths to
# OUT. A unit includes the back end's loops for the family, <BACKEND>/loops/<FAMILY>.h, where there are any,
# and then the card header with FB_EMIT_CARDS defined, so that every card emits its record, and its kernels
# where the loops make them. ops/math holds no cards.
function(fb_card_units OUT)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "BACKEND" "")
  set(units ${${OUT}})
  file(GLOB cards CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/ops/*/*.h)
  foreach(card IN LISTS cards)
    get_filename_component(family ${card} DIRECTORY)
    get_filename_component(family ${family} NAME)
    get_filename_component(stem ${card} NAME_WE)
    if(family STREQUAL "math")
      continue()
    endif()
    # What cards of a family share needs no unit; should it get a card, the build is configured anew.
    file(STRINGS ${CMAKE_SOURCE_DIR}/${card} emits REGEX "FB_CARD\\(" LIMIT_COUNT 1)
    if(NOT emits)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${card})
      continue()
    endif()
    set(loops ${ARG_BACKEND}/loops/${family}.h)
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${loops})
      set(loops dispatch/card.h)
    endif()
    set(unit ${CMAKE_BINARY_DIR}/cards/${ARG_BACKEND}/${family}_${stem}.cpp)
    file(CONFIGURE OUTPUT ${unit}
         CONTENT "#define FB_EMIT_CARDS\n#include \"${loops}\"\n#include \"${card}\"\n")
    list(APPEND units ${unit})
  endforeach()
  set(${OUT} ${units} PARENT_SCOPE)
endfunction()
