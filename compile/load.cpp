// Finds libtorch_compile beside this library. Part of libtorch, as trace.cpp is.
#include <dlfcn.h>

#include <string>

#include "compile/compile.h"
#include "core/error.h"
#include "core/no_fork.h"

namespace fb::compile {

const Compiler& compiler() {
  static constinit FirstUse<const Compiler*> c;
  return *c.get([] {
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&compiler), &here);
    std::string path = here.dli_fname ? here.dli_fname : "";
    path = path.substr(0, path.rfind('/') + 1) + "libtorch_compile.so";
    void* lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!lib) raise_runtime("the compiler could not be loaded: ", dlerror());
    void* f = dlsym(lib, "fb_compiler");
    if (!f) raise_runtime("the compiler could not be loaded: ", path, " has no entry");
    return reinterpret_cast<const Compiler* (*)()>(f)();
  });
}

}  // namespace fb::compile
