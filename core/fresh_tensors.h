// What tensors are born with on this thread: inference mode marks them.
#pragma once
#include <cstdint>

namespace fb {
extern __attribute__((tls_model("initial-exec"))) constinit thread_local uint16_t fresh_tensor_flags;
}
