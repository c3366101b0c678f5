# libtorch_compile: tile programs, their passes, the units of the cards, and LLVM linked into it with hidden symbols. It is
# loaded on first use (compile/load.cpp); nothing else links to it but the C++ tests.
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
list(REMOVE_ITEM FB_COMPILE_SOURCES ${CMAKE_SOURCE_DIR}/compile/load.cpp ${CMAKE_SOURCE_DIR}/compile/trace.cpp)
set(FB_COMPILE_UNITS)
fb_card_units(FB_COMPILE_UNITS BACKEND compile GUEST)
add_library(torch_compile SHARED ${FB_COMPILE_SOURCES} ${FB_COMPILE_UNITS})
# What writes programs runs once for each of them: small rather than fast.
set_source_files_properties(${FB_COMPILE_UNITS} PROPERTIES COMPILE_OPTIONS "-O1")
set_source_files_properties(compile/llvm/emit.cpp compile/llvm/jit.cpp PROPERTIES
  COMPILE_OPTIONS "-O1;-isystem;${FB_LLVM_INCLUDE}" COMPILE_DEFINITIONS "_GNU_SOURCE;__STDC_CONSTANT_MACROS;__STDC_LIMIT_MACROS")
target_link_libraries(torch_compile PUBLIC torch_cpu PRIVATE
  -L${FB_LLVM_LIBDIR} ${FB_LLVM_LIBS} -l:libzstd.a -l:libz.a -l:libtinfo.a dl)
target_link_options(torch_compile PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/no_llvm_symbols.map -Wl,--gc-sections -Wl,--build-id=sha1 $<$<NOT:$<BOOL:${FB_SANITIZE}>>:-Wl,-s>)
set_target_properties(torch_compile PROPERTIES CXX_VISIBILITY_PRESET default
  LIBRARY_OUTPUT_DIRECTORY ${FB_PACKAGE_DIR}/lib BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
install(TARGETS torch_compile LIBRARY DESTINATION torch/lib)
