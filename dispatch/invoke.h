// The roads of a call: how an entry of each kind and form is invoked, and run below autograd.
#pragma once
#include "dispatch/op.h"

namespace fb {

// Sets e.invoke and e.run from its card and form.
void set_invoke(OpEntry& e);

}  // namespace fb
