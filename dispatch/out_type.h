// A form of cards whose result goes into an out= of another type where that can take it, and raises TypeError where it cannot
// (others raise RuntimeError).
#pragma once
#include <cstdint>

namespace fb::form {
constexpr uint32_t out_type_error = uint32_t(1) << 22;
}
