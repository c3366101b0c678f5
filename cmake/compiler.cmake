# libtorch_compile: tile programs, their passes and the units of the cards; it is loaded on first use (compile/load.cpp), and
# nothing else links to it but the C++ tests. libtorch_llvm: what makes objects of tile programs, with LLVM linked into it
# with hidden symbols, loaded when there is code to make (compile/llvm/load_llvm.cpp).
find_program(LLVM_CONFIG NAMES llvm-config-19 HINTS /usr/lib/llvm-19/bin)
if(NOT LLVM_CONFIG)
  message(FATAL_ERROR "LLVM 19 is not there (Debian: llvm-19-dev); -DFB_COMPILE=OFF builds without the compiler")
endif()
function(fb_llvm_config OUT)
  execute_process(COMMAND ${LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(text)
  set(${OUT} ${text} PARENT_SCOPE)
endfunction()
fb_llvm_config(FB_LLVM_INCLUDE --includedir)
fb_llvm_config(FB_LLVM_LIBDIR --libdir)
fb_llvm_config(FB_LLVM_LIBS --link-static --libs x86codegen x86asmparser passes)

file(GLOB_RECURSE FB_COMPILE_SOURCES CONFIGURE_DEPENDS compile/*.cpp)
set(FB_LLVM_SOURCES ${CMAKE_SOURCE_DIR}/compile/llvm/emit.cpp ${CMAKE_SOURCE_DIR}/compile/llvm/jit.cpp)
list(REMOVE_ITEM FB_COMPILE_SOURCES ${CMAKE_SOURCE_DIR}/compile/load.cpp ${CMAKE_SOURCE_DIR}/compile/trace.cpp ${FB_LLVM_SOURCES})
set(FB_COMPILE_UNITS)
fb_card_units(FB_COMPILE_UNITS BACKEND compile GUEST)
add_library(torch_compile SHARED ${FB_COMPILE_SOURCES} ${FB_COMPILE_UNITS})
add_library(torch_llvm SHARED ${FB_LLVM_SOURCES})
# What writes programs runs once for each of them: small rather than fast.
set_source_files_properties(${FB_COMPILE_UNITS} PROPERTIES COMPILE_OPTIONS "-O1")
set_source_files_properties(${FB_LLVM_SOURCES} PROPERTIES
  COMPILE_OPTIONS "-O1;-isystem;${FB_LLVM_INCLUDE}" COMPILE_DEFINITIONS "_GNU_SOURCE;__STDC_CONSTANT_MACROS;__STDC_LIMIT_MACROS")
if(FB_SANITIZE)
  target_compile_options(torch_llvm PRIVATE -fno-sanitize=vptr)  # LLVM, which is not instrumented, has no type information
endif()
target_link_libraries(torch_compile PUBLIC torch_cpu PRIVATE dl)
target_link_libraries(torch_llvm PRIVATE torch_compile -L${FB_LLVM_LIBDIR} ${FB_LLVM_LIBS} -l:libzstd.a -l:libz.a -l:libtinfo.a)
target_link_options(torch_llvm PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/no_llvm_symbols.map)
foreach(library torch_compile torch_llvm)
  target_link_options(${library} PRIVATE -Wl,--gc-sections -Wl,--build-id=sha1 $<$<NOT:$<BOOL:${FB_SANITIZE}>>:-Wl,-s>)
  set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${FB_PACKAGE_DIR}/lib BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
endforeach()
set_target_properties(torch_compile PROPERTIES CXX_VISIBILITY_PRESET default)
install(TARGETS torch_compile torch_llvm LIBRARY DESTINATION torch/lib)
