// Operators of libraries while other threads call them: kernels come, go and are dropped, overloads join and leave.
#include "dispatch/library.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "dispatch/call.h"

namespace fb {
namespace {

// What a kernel works on; poisoned when the kernel is dropped.
struct Context {
  std::atomic<int64_t> adds{0};
  ~Context() { adds = -1000000; }
};
void run(void* context, const OpEntry&, const Value* args, Results& out) {
  auto* c = static_cast<Context*>(context);
  const int64_t before = c->adds;
  std::this_thread::yield();  // long enough for others to remove this kernel
  const Tensor r = op<"add">(args[0].tensor(), Scalar(before));
  if (c->adds != before) raise_runtime("the kernel was dropped while it ran");
  out.push(r);
}
LibraryKernel kernel(int64_t adds) {
  auto* c = new Context;
  c->adds = adds;
  return {run, c, [](void* p) { delete static_cast<Context*>(p); }};
}
float call(const OpEntry& e, const Tensor& x) {
  const Value v[] = {Value(x)};
  Results r;
  e(v, r);
  return *r[0].ptr<float>();
}

TEST(Library, KernelsChangeWhileOthersRun) {
  const OpEntry& e = library_define("fbracing::shift(Tensor x) -> Tensor");
  library_impl(e, LibraryKey::cpu, kernel(1));
  const Tensor x = op<"ones">(Ints{2});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        try {
          const float v = call(e, x);
          if (v != 2 && v != 3 && v != 4) ++wrong;
        } catch (const Error&) {
          ++wrong;
        }
        ++calls;
      }
    });
  for (int i = 0; i < 3000 || calls < 1000; ++i) {
    const int64_t a = library_impl(e, LibraryKey::cpu, kernel(2)), b = library_impl(e, LibraryKey::composite_explicit, kernel(3));
    library_remove(a);
    library_remove(b);
    EXPECT_TRUE(library_has_kernel(e, LibraryKey::cpu));
    EXPECT_FALSE(library_has_kernel(e, LibraryKey::composite_explicit));
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  library_undefine(e);
}

TEST(Library, AKernelInPlaceOfACardsComesAndGoes) {
  const OpEntry& e = *find_op("erfinv");
  const Tensor x = op<"zeros">(Ints{2});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        const float v = call(e, x);
        if (v != 0 && v != 5) ++wrong;
        ++calls;
      }
    });
  for (int i = 0; i < 3000 || calls < 1000; ++i) library_remove(library_impl(e, LibraryKey::cpu, kernel(5)));
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(call(e, x), 0);
}

TEST(Library, OverloadsJoinAndLeaveWhileOthersLookThemUp) {
  library_impl(library_define("fblooking::f(Tensor x) -> Tensor"), LibraryKey::cpu, kernel(1));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      const Tensor x = op<"ones">(Ints{2});
      const Value v[] = {Value(x)};
      while (!stop) {
        if (resolve_op("fblooking::f", v, 1).schema.name != "fblooking::f") ++wrong;
        bool found = false;
        for (const Packet* p : all_packets()) found |= p->name == "fblooking::f";
        if (!found) ++wrong;
      }
    });
  threads.emplace_back([&] {
    for (int i = 0; i < 200; ++i) {
      const OpEntry& e = library_define("fblooking::f.second(Tensor x, int n) -> Tensor");
      EXPECT_THROW(library_define("fblooking::f.second(Tensor x, int n) -> Tensor"), Error);
      library_undefine(e);
    }
    stop = true;
  });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace fb
