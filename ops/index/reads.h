// Reading by an index, as a rule: which element of which argument a result's element is. Cards that only read say so with
// `static ReadRule read_rule(const Value* args)`; every back end may then read in the midst of other work.
#pragma once
#include "dispatch/value.h"

namespace fb {

struct ReadRule {
  int source, index;   // arguments
  int64_t dim;         // of the source, that the index goes along; may be negative
  enum Kind {
    rows,              // out[i..., j...] = source[index[i...], j...]; dim is 0
    along,             // out[..., k, ...] = source[..., index[k], ...]
    each,              // out[i...] = source[i... but index[i...] at dim]
  } kind;
};

}  // namespace fb
