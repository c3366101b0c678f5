// Machine code that was made, by what it was made for.
#pragma once
#include <string>

#include "compile/compile.h"
#include "compile/pipeline.h"

namespace fb::compile {

// The code for `key`; where there is none yet, of the program that make() writes. What nothing else holds may be let go when
// more than kMostKernels are known; it is made anew, or read from disk, where it is wanted again.
Ref<Code> kernel(const std::string& key, tile::Program (*make)(const void* context), const void* context);
template <class F> Ref<Code> kernel(const std::string& key, const F& make) {
  return kernel(key, [](const void* f) { return (*static_cast<const F*>(f))(); }, &make);
}
constexpr int64_t kMostKernels = 2048;
Statistics statistics();

// The result(s) of a call as its card's shape rule makes them, without values: run on the meta device.
void shape_of(const OpEntry& op, const Value* args, Results& out);

}  // namespace fb::compile
