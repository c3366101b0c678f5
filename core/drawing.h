// The lock of a generator, as who draws takes it.
#pragma once
#include "core/generator.h"
#include "core/no_fork.h"

namespace fb {

// Holds the generator; fork() waits meanwhile, so that a child's generators are whole and free. No Python runs within.
class Drawing {
 public:
  explicit Drawing(Generator& g) : lock_(g.mutex) {}

 private:
  NoFork whole_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace fb
