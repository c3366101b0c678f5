# fb_card_units(OUT BACKEND cpu FAMILY pointwise)
#
# Writes one translation unit per card header of ops/<FAMILY>/ into the build folder and appends
# their paths to OUT. A unit includes the back end's loops, <BACKEND>/loops/<FAMILY>.h, and then
# the card header; the loops emit a kernel record for every card that the header defines. Nothing
# is written while the back end has no loops for the family.
function(fb_card_units OUT)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "BACKEND;FAMILY" "")
  set(loops ${ARG_BACKEND}/loops/${ARG_FAMILY}.h)
  set(units ${${OUT}})
  if(EXISTS ${CMAKE_SOURCE_DIR}/${loops})
    file(GLOB cards CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
         ${CMAKE_SOURCE_DIR}/ops/${ARG_FAMILY}/*.h)
    foreach(card IN LISTS cards)
      get_filename_component(stem ${card} NAME_WE)
      set(unit ${CMAKE_BINARY_DIR}/cards/${ARG_BACKEND}/${ARG_FAMILY}_${stem}.cpp)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${loops}\"\n#include \"${card}\"\n")
      list(APPEND units ${unit})
    endforeach()
  endif()
  set(${OUT} ${units} PARENT_SCOPE)
endfunction()
