// From a tile program to machine code in this process. Nothing of LLVM shows here; emit.cpp and jit.cpp alone include it.
#pragma once
#include <cstdint>
#include <string>

#include "compile/tile/ir.h"
#include "compile/tile/width.h"
#include "core/error.h"
#include "core/refcount.h"

namespace fb::compile {

// The processors that code is made for, in LLVM's word: those that the project's own loops are compiled for, or where this one
// has them, vectors of 512 bits. Bits do not depend on it.
inline const char* processor() { return tile::wide_vectors() ? "x86-64-v4" : "x86-64-v3"; }

// One word for each parameter: addresses and i64 as they are, f64 as its bits. Returns the errors raised (tile::Errors).
using Entry = int32_t (*)(const int64_t* words);

// LLVM is not there, or what it made cannot be run: graphs run operator by operator then.
struct NoMachineCode final : Error {
  explicit NoMachineCode(std::string text) : Error(ErrorKind::runtime, std::move(text)) {}
};

// An object file with p's code. It names what stands outside of it (llvm/lane_site.h). Raises RuntimeError where LLVM refuses, throws
// NoMachineCode where it is not there.
// times: milliseconds of LLVM's text, of its passes, of the machine's code.
std::string make_object(const tile::Program& p, double* times = nullptr);
// Where the library with LLVM lies, which make_object loads.
std::string llvm_library();

// Code in memory of its own, which is given back with it.
struct Code : RefCounted {
  Entry entry = nullptr;
  void* memory = nullptr;
  size_t size = 0;
  static void destroy(Code* c);
};
// p's code, from an object made for it. Null where the object is not one of ours.
Ref<Code> load_object(const std::string& object, const tile::Program& p);
// What stood in the way where load_object gave nothing, on this thread.
const std::string& why_not_loaded();

inline Ref<Code> make_code(const tile::Program& p) { return load_object(make_object(p), p); }

}  // namespace fb::compile
