// Finds libtorch_compile beside this library. Part of libtorch: the only file of this folder that is.
#include <dlfcn.h>

#include <string>

#include "compile/compile.h"
#include "compile/triton/launch.h"
#include "core/error.h"

namespace fb::compile {

namespace {

void* entry(const char* name) {
  static void* const lib = [] {
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&compiler), &here);
    std::string path = here.dli_fname ? here.dli_fname : "";
    path = path.substr(0, path.rfind('/') + 1) + "libtorch_compile.so";
    void* lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!lib) raise_runtime("the compiler could not be loaded: ", dlerror());
    return lib;
  }();
  void* f = dlsym(lib, name);
  if (!f) raise_runtime("the compiler could not be loaded: it has no ", name);
  return f;
}

}  // namespace

const Compiler& compiler() {
  static const Compiler* const c = reinterpret_cast<const Compiler* (*)()>(entry("fb_compiler"))();
  return *c;
}

}  // namespace fb::compile

namespace fb::triton {

const Table& table() {
  static const Table* const t = reinterpret_cast<const Table* (*)()>(compile::entry("fb_triton"))();
  return *t;
}

}  // namespace fb::triton
