// Objects with machine code on disk, by the content of the program they were made for, this library and the processor's
// features. In TORCHINDUCTOR_CACHE_DIR, else below XDG_CACHE_HOME or ~/.cache; TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 turns
// it off. Files come into being whole (written aside, then renamed), so any number of processes may share a directory. A
// file that is damaged, that another user owns or could write, or that was made by another build is not read.
#pragma once
#include <string>

#include "compile/tile/named.h"

namespace fb::compile::cache {

// Names the code of p, which is lowered; empty where it is of use to this process alone.
std::string name_of(const tile::Program& p);
bool find(const std::string& name, std::string* object);
// Does nothing where the directory cannot be written.
void keep(const std::string& name, const std::string& object);

// Off: nothing is found and nothing kept from here on.
void use(bool on);

}  // namespace fb::compile::cache
