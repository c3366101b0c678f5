// A form of composite cards that Python's layer sees as they are called, not expanded: factories, and what has no
// derivative to be found in its parts. One on lists is expanded all the same where the call is recorded.
#pragma once
#include <cstdint>

namespace fb::form {
constexpr uint32_t visible = uint32_t(1) << 29;
}
