// Writes to tensors that hold one element in several places: dimensions without a stride, as expand() makes them. Most
// operators refuse them; those of cards that say out_repeated do not.
#pragma once
#include "dispatch/op.h"

namespace fb {

namespace form {
constexpr uint32_t out_repeated = uint32_t(1) << 23;  // out, and self in place, may be such a tensor
}

// Writes the result of a call of op's functional form to `to`, of the result's shape. A reduction takes in all that comes to
// one place; of anything else the last element stays.
void write_repeated(const OpEntry& op, const Value* args, const Tensor& to, const Tensor& result);
// Dimensions in which t holds its elements again and again; t with size 1 there.
Dims repeated_dims(const Tensor& t);
Tensor one_of_each(const Tensor& t);
// Says that this is meant by few who do it.
void warn_repeated(const char* name, const Tensor& self);
// Writes the elements of `result`, of self's shape, where `written` (bool) holds, one after the other.
void write_repeated(const Tensor& self, const Tensor& result, const Tensor& written);

}  // namespace fb
