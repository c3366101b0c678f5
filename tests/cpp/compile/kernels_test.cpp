#include "compile/kernels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compile/tile/builder.h"

namespace fb {
namespace {

// out = number
tile::Program storing(int64_t number) {
  tile::Program p;
  p.name = "storing";
  tile::Builder b(p);
  const tile::Id out = b.parameter("out", tile::Elem::address);
  b.store(out, b.integer(number));
  return p;
}
Ref<compile::Code> code_for(int64_t key) {
  return compile::kernel("kernels_test " + std::to_string(key), [&] { return storing(key % 2); });
}
int64_t result_of(const compile::Code& c) {
  int64_t r = -1;
  const int64_t words[] = {reinterpret_cast<int64_t>(&r)};
  EXPECT_EQ(c.entry(words), 0);
  return r;
}

TEST(Kernels, WhatNothingHoldsIsLetGo) {
  const Ref<compile::Code> held = code_for(0);
  for (int64_t i = 1; i < compile::kMostKernels + 100; ++i) {
    const Ref<compile::Code> c = code_for(i);
    if (i % 97 == 0) EXPECT_EQ(result_of(*c), i % 2);
    EXPECT_EQ(code_for(i), c);
    if (HasFailure()) return;
  }
  EXPECT_LE(compile::statistics().known, compile::kMostKernels);
  EXPECT_EQ(code_for(0), held);
  EXPECT_EQ(result_of(*held), 0);
  const int64_t before = compile::statistics().known;
  EXPECT_EQ(result_of(*code_for(1)), 1);   // made again
  EXPECT_EQ(compile::statistics().known, before + 1);
}

TEST(Kernels, WhatIsHeldStaysBeyondTheBound) {
  std::vector<Ref<compile::Code>> all;
  for (int64_t i = 0; i < compile::kMostKernels + 20; ++i) all.push_back(code_for(10000 + i));
  EXPECT_GE(compile::statistics().known, compile::kMostKernels + 20);
  for (int64_t i = 0; i < int64_t(all.size()); i += 101) EXPECT_EQ(result_of(*all[size_t(i)]), i % 2);
  all.clear();
  for (int64_t i = 0; i < 2; ++i) code_for(20000 + i);
  EXPECT_LE(compile::statistics().known, compile::kMostKernels);
}

}  // namespace
}  // namespace fb
