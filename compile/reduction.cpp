// Reductions by machine code.
#include "compile/kernels.h"

namespace fb::compile {

bool accepts_reduction(const OpEntry&, const Value*, std::string* why) {
  if (why) *why = "reductions are not compiled";
  return false;
}
void run_reduction(const OpEntry&, const Value*, Results&) {}

}  // namespace fb::compile
