// domain_bits [--write FOLDER]: a line for each function of ops/math, "name type count scalar-hash vector-hash"; ends with 1
// and says where when the two domains differ. With a folder, arguments and scalar results go there as they are in memory:
// arguments.TYPE, partners.TYPE, NAME.TYPE.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/domains/bits.h"

namespace {

void write(const std::string& path, const void* p, size_t bytes) {
  FILE* f = std::fopen(path.c_str(), "wb");
  if (!f || std::fwrite(p, 1, bytes, f) != bytes || std::fclose(f)) {
    std::perror(path.c_str());
    std::exit(2);
  }
}
template <class T> void write_arguments(const std::string& folder) {
  using namespace fb::testing;  // NOLINT
  const auto &x = arguments<T>(), &y = partners<T>();
  write(folder + "/arguments." + type_name<T>(), x.data(), x.size() * sizeof(T));
  write(folder + "/partners." + type_name<T>(), y.data(), y.size() * sizeof(T));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fb::testing::Row> rows;
  fb::testing::append_elementary(rows);
  fb::testing::append_special(rows);
  fb::testing::append_two(rows);
  fb::testing::append_iterating(rows);
  fb::testing::append_scalar(rows);
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) {
    write_arguments<float>(argv[2]);
    write_arguments<double>(argv[2]);
    for (const auto& r : rows) write(std::string(argv[2]) + "/" + r.name + "." + r.type, r.results.data(), r.results.size());
  }
  std::printf("domain %s, %d floats\n", fb::native_domain, fb::Native<float>::lanes);
  int differing = 0;
  for (const auto& r : rows) {
    std::printf("%s %s %zu %016llx %016llx\n", r.name.c_str(), r.type.c_str(), r.count, (unsigned long long)r.scalar, (unsigned long long)r.native);
    if (r.differs.empty()) continue;
    ++differing;
    std::fprintf(stderr, "%s of %s differs at %s\n", r.name.c_str(), r.type.c_str(), r.differs.c_str());
  }
  return differing ? 1 : 0;
}
