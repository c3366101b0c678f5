// The words that schemas use for types of arguments.
#pragma once
#include "dispatch/schema.h"

namespace fb {

// "Tensor", "int", ...: of the elements where t is a list.
const char* type_word(ArgType t);
constexpr bool is_list(ArgType t) {
  return t == ArgType::tensors || t == ArgType::optional_tensors || t == ArgType::scalars || t == ArgType::ints || t == ArgType::doubles ||
         t == ArgType::bools;
}

// How a schema writes the default of an argument that has one.
std::string print_default(const ArgSpec& a);
// The text of an operator from outside, which names its aliases itself, in the form of print().
std::string print_as_written(std::string_view text, const Schema& parsed);

}  // namespace fb
