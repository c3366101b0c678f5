// Loads libtorch_llvm, which lies beside this library, when machine code is first made: code that lies on disk needs no LLVM.
#include <dlfcn.h>

#include "compile/llvm/machine.h"
#include "core/error.h"
#include "core/no_fork.h"

namespace fb::compile {

std::string llvm_library() {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&llvm_library), &here);
  const std::string path = here.dli_fname ? here.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1) + "libtorch_llvm.so";
}

std::string make_object(const tile::Program& p, double* times) {
  using Make = void (*)(const tile::Program&, double*, std::string*);
  static constinit FirstUse<Make> made;
  const NoFork whole;
  const Make make = made.get([] {
    void* lib = dlopen(llvm_library().c_str(), RTLD_NOW | RTLD_LOCAL);
    void* f = lib ? dlsym(lib, "fb_make_object") : nullptr;
    if (!f) {
      const char* why = dlerror();
      throw NoMachineCode(text("the compiler's library could not be loaded, so that no machine code can be made: ", why ? why : llvm_library().c_str()));
    }
    return reinterpret_cast<Make>(f);
  });
  std::string object;
  make(p, times, &object);
  return object;
}

}  // namespace fb::compile
