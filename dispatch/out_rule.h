// Forms of cards that say what their derived out= may be. A pointwise card converts its result to the type of out, but for
// those of one operand whose result has its type (neg, relu) and those that say out_exact. Any other card wants out to have
// the result's own type. Whoever says out_converts converts.
#pragma once
#include <cstdint>

namespace fb::form {
constexpr uint32_t out_exact = uint32_t(1) << 27;         // of pointwise cards: out has the type of the result
constexpr uint32_t out_converts = uint32_t(1) << 26;      // the result is converted to the type of out
constexpr uint32_t out_apart = uint32_t(1) << 25;         // out shares no memory with what is read
constexpr uint32_t out_same_or_apart = uint32_t(1) << 24; // out is one of the tensors that are read, or apart from them
constexpr uint32_t out_single = uint32_t(1) << 21;        // no two elements of out are one place, even where it gets another shape
}  // namespace fb::form
