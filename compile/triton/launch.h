// Kernels as machine code, and their launch over a grid of programs.
#pragma once
#include <cstdint>
#include <string>

#include "compile/tile/ir.h"

namespace fb::triton {

struct Program;
}
namespace fb::tile {
struct Named;
}
namespace fb::triton {

// What a kernel prints or requires; the machine code holds its address.
struct Message {
  std::string text;
  tile::Elem elem;
  bool requirement, hexadecimal;
};
constexpr int kFailedRequirement = 16;  // a bit among the errors a program returns; none of tile::Errors
// A lane of a message: in holds the program's ids (3), the number of the element or -1, and the value as f64 or i64.
void say(int64_t message, void*, const void* const* in);

struct Kernel;

// Raises RuntimeError where the program is ill-formed, naming what does not hold.
Kernel* make_kernel(const Program& p, bool interpreted);
void drop_kernel(Kernel* k);
struct Facts {
  int64_t scratch = 0;                  // bytes of working memory that a program uses
  bool serial = false;                  // programs run in order on one thread
  double work = 0;                      // estimated operations of one program
  double milliseconds = 0;              // that making it took
};
const Facts& facts(const Kernel& k);
std::string listing(const Kernel& k);   // its tile program, before the passes
// words: one for each parameter: addresses and integers as they are, floats as the bits of a double.
void launch(const Kernel& k, const int64_t* words, int count, const int64_t grid[3]);
constexpr int kMostParameters = 120;

// The same for callers that do not link to libtorch_compile (compile.h).
struct Table {
  Kernel* (*make)(const Program& p, bool interpreted);
  void (*drop)(Kernel* k);
  const Facts& (*facts)(const Kernel& k);
  std::string (*listing)(const Kernel& k);
  void (*launch)(const Kernel& k, const int64_t* words, int count, const int64_t grid[3]);
  const tile::Named* (*named)(const char* name);   // a function by its name; null where there is none
};
extern const Table table;

}  // namespace fb::triton
