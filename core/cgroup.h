// What the control group of this process allows it (cgroup v1 and v2).
#pragma once
#include <cstdint>

namespace fb {

// CPU quota in whole CPUs, rounded up; INT64_MAX where there is none.
int64_t cgroup_cpu_quota();
// Memory limit in bytes; INT64_MAX where there is none.
int64_t cgroup_memory_limit();

}  // namespace fb
