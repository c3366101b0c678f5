#include "core/cgroup.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace fb {
namespace {

bool read_text(const std::string& path, char* text, size_t size) {
  FILE* f = std::fopen(path.c_str(), "re");
  if (!f) return false;
  size_t n = std::fread(text, 1, size - 1, f);
  std::fclose(f);
  text[n] = 0;
  return n > 0;
}

int64_t read_cpu_quota(const std::string& dir, bool v2) {
  char text[128];
  long long quota = -1, period = 0;
  if (v2) {
    if (!read_text(dir + "/cpu.max", text, sizeof text)) return INT64_MAX;
    if (std::sscanf(text, "%lld %lld", &quota, &period) != 2) return INT64_MAX;  // "max 100000"
  } else {
    if (read_text(dir + "/cpu.cfs_quota_us", text, sizeof text)) quota = std::atoll(text);
    if (read_text(dir + "/cpu.cfs_period_us", text, sizeof text)) period = std::atoll(text);
  }
  return quota > 0 && period > 0 ? (quota + period - 1) / period : INT64_MAX;
}

int64_t read_memory_limit(const std::string& dir, bool v2) {
  char text[128];
  if (!read_text(dir + (v2 ? "/memory.max" : "/memory.limit_in_bytes"), text, sizeof text))
    return INT64_MAX;
  long long limit = std::strtoll(text, nullptr, 10);  // "max" reads as 0
  return limit > 0 ? limit : INT64_MAX;
}

// The smallest limit of this process's group and its parents.
int64_t smallest(const char* controller, int64_t (*read)(const std::string& dir, bool v2)) {
  int64_t best = INT64_MAX;
  FILE* f = std::fopen("/proc/self/cgroup", "re");
  if (!f) return best;
  char line[4096];
  while (std::fgets(line, sizeof line, f)) {
    // "id:controller,controller:/path"; no controllers on the line of v2.
    line[std::strcspn(line, "\n")] = 0;
    char* names = std::strchr(line, ':');
    char* path = names ? std::strchr(names + 1, ':') : nullptr;
    if (!path) continue;
    *names++ = 0;
    *path++ = 0;
    bool v2 = !*names, mine = v2;
    for (char* name = std::strtok(names, ","); name; name = std::strtok(nullptr, ","))
      mine |= !std::strcmp(name, controller);
    if (!mine) continue;
    std::string group = std::strcmp(path, "/") ? path : "";
    // A container may see its own group as the root of the mount, so the parents end there.
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
                             "/sys/fs/cgroup/memory"}) {
      for (std::string at = group;;) {
        best = std::min(best, read(root + at, v2));
        size_t slash = at.rfind('/');
        if (slash == std::string::npos) break;
        at.resize(slash);
      }
    }
  }
  std::fclose(f);
  return best;
}

}  // namespace

int64_t cgroup_cpu_quota() { return smallest("cpu", read_cpu_quota); }
int64_t cgroup_memory_limit() { return smallest("memory", read_memory_limit); }

}  // namespace fb
