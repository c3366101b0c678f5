// What libtorch_compile offers. libtorch does not link to it: compiler() loads it when first asked (load.cpp).
#pragma once
#include <cstdint>

#include "compile/graph.h"

namespace fb::triton {
struct Table;  // compile/triton/launch.h
}

namespace fb::compile {

struct Statistics {
  int64_t kernels = 0;           // made so far
  double milliseconds = 0;       // spent on making them
  double median = 0;             // milliseconds of the middle one, of the last few thousand
  int64_t loaded = 0;            // kernels whose code an earlier process had left on disk
  double loading = 0;            // milliseconds spent on those
  double median_loading = 0;
  int64_t known = 0;             // kernels that are in memory now
};

// A graph made ready: it plans once for each geometry of its inputs, and keeps the plans.
struct Compiled;

struct Compiler {
  // Whether machine code can be made for this call; where not, `why` says so in words.
  bool (*accepts)(const OpEntry& op, const Value* args, std::string* why);
  // The call, by machine code made for the types, modes and kinds of strides it has, with the bits and errors of the
  // eager one. Below autograd. Raises NotImplementedError where accepts says no.
  void (*run)(const OpEntry& op, const Value* args, Results& out);
  Statistics (*statistics)();
  void (*keep_on_disk)(bool on);  // whether code is read from disk and left there, where the environment lets it
  const triton::Table* triton;   // kernels of the Triton language

  Compiled* (*make)(Graph g);
  void (*drop)(Compiled* c);
  // outputs[i] = output i. Where a gradient is wanted of an input the operators are called one by one, as eager does.
  void (*call)(Compiled& c, TensorImpl* const* inputs, Tensor* outputs);
  // The steps that a call with these inputs takes, one a line.
  std::string (*describe)(Compiled& c, TensorImpl* const* inputs);
};

// Raises RuntimeError where the library cannot be loaded.
const Compiler& compiler();

}  // namespace fb::compile

extern "C" const fb::compile::Compiler* fb_compiler();
