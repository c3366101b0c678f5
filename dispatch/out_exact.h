// A form of pointwise cards. Their derived out= takes what the result converts to, but for those of one operand whose result has
// its type (neg, relu), unless they say out_converts (dispatch/out_rule.h), and for those that say this.
#pragma once
#include <cstdint>

namespace fb::form {
constexpr uint32_t out_exact = uint32_t(1) << 27;  // out has the type of the result
}
