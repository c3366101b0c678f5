// What a call of a graph does for one geometry of its inputs: kernels, views and calls of operators, in order.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compile/fuse/group.h"
#include "compile/fuse/kernel_form.h"
#include "compile/kernels.h"

namespace fb::compile {

struct Launch {                // one run of a kernel over its units
  Ref<Code> code;
  std::vector<int64_t> words;  // all but bases and memory
  int64_t units = 0, grain = 1;
  int scratch = -1, partial = -1, first_fold = -1, folds = 0;  // which words; -1: none
  std::vector<int> bases;      // [operand]
  std::string what;
};

struct Step {
  StepKind kind = StepKind::call;
  int node = -1;                          // of calls and views
  std::vector<Launch> launches;           // of nests; they share memory
  std::vector<std::pair<int, int64_t>> operands;  // of nests: slot and offset in bytes
  std::vector<int> makes;                 // slots
  int64_t scratch_bytes = 0;              // for each thread
  int64_t partial_bytes = 0;              // for each thread; with shared launches, for all of them
  int64_t fold_bytes = 0;                 // for each fold
  bool shared = false;                    // partial results are shared among threads
  std::vector<int> drops;                 // slots that nothing needs any more
};

struct Made {                             // a tensor that a plan makes
  Dims sizes, strides;
  DType dtype = DType::f32;
  bool contiguous = false;   // strides are those of Tensor::empty, dimensions of size 1 included
};

struct Plan {
  // ---- what it holds for ----
  struct Guard {
    Dims sizes, strides;
    DType dtype;
    bool wrapped;
    bool plain;                           // memory of the CPU, strided, without conj or neg bit
  };
  std::vector<Guard> guards;              // inputs, then constants
  DType default_type = DType::f32;
  bool holds(TensorImpl* const* inputs, const std::vector<const Tensor*>& constants) const;

  // ---- what it does ----
  bool eager = false;                     // operator by operator
  std::string why;                        // it is
  std::vector<Step> steps;
  std::vector<std::vector<int>> slot_of;  // [node][result]; -1: never in memory
  std::vector<Made> made;                 // [slot]
  std::vector<int> outputs;               // slots
  int inputs = 0, constants = 0;          // slots that come first
};

std::unique_ptr<Plan> make_plan(const Graph& g, TensorImpl* const* inputs);
// outputs[i] = output i. False where a call did not give what its shape rule said, or a kernel met an error: nothing is
// given then.
bool run_plan(const Plan& p, const Graph& g, TensorImpl* const* inputs, const std::vector<const Tensor*>& constants, Tensor* outputs);
void run_eagerly(const Graph& g, TensorImpl* const* inputs, Tensor* outputs);
std::string text_of(const Plan& p, const Graph& g);

// The launches of a nest: which kernels it takes for the strides at hand.
void fit(const Nest& n, Step& step);

}  // namespace fb::compile
