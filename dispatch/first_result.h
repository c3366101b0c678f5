// A form of cards with several results of which only the first one carries a gradient (statistics that are saved for the
// backward pass and given out besides).
#pragma once
#include <cstdint>

namespace fb::form {
constexpr uint32_t first_result_differentiable = uint32_t(1) << 30;
}
