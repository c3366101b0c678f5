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

// Threads that do one thing over and over, until told to stop. What they do says whether it went well.
class Racers {
 public:
  template <class F> Racers(int count, F step) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, step] {
        while (!stop_) {
          try {
            if (!step()) ++wrong_;
          } catch (const Error&) {
            ++wrong_;
          }
          ++rounds_;
        }
      });
  }
  int64_t rounds() const { return rounds_; }
  // How many rounds went wrong.
  int64_t stop() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
    return wrong_;
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> rounds_{0}, wrong_{0};
  std::vector<std::thread> threads_;
};

TEST(Library, KernelsChangeWhileOthersRun) {
  const OpEntry& e = library_define("fbracing::shift(Tensor x) -> Tensor");
  library_impl(e, LibraryKey::cpu, kernel(1));
  const Tensor x = op<"ones">(Ints{2});
  Racers racers(3, [&] {
    const float v = call(e, x);
    return v == 2 || v == 3 || v == 4;
  });
  for (int i = 0; i < 3000 || racers.rounds() < 1000; ++i) {
    const int64_t a = library_impl(e, LibraryKey::cpu, kernel(2)), b = library_impl(e, LibraryKey::composite_explicit, kernel(3));
    library_remove(a);
    library_remove(b);
    EXPECT_TRUE(library_has_kernel(e, LibraryKey::cpu));
    EXPECT_FALSE(library_has_kernel(e, LibraryKey::composite_explicit));
  }
  EXPECT_EQ(racers.stop(), 0);
  library_undefine(e);
}

TEST(Library, AKernelInPlaceOfACardsComesAndGoes) {
  const OpEntry& e = *find_op("erfinv");
  const Tensor x = op<"zeros">(Ints{2});
  Racers racers(3, [&] {
    const float v = call(e, x);
    return v == 0 || v == 5;
  });
  for (int i = 0; i < 3000 || racers.rounds() < 1000; ++i) library_remove(library_impl(e, LibraryKey::cpu, kernel(5)));
  EXPECT_EQ(racers.stop(), 0);
  EXPECT_EQ(call(e, x), 0);
}

TEST(Library, AKernelThatIsRefusedIsDropped) {
  bool dropped = false;
  const LibraryKernel k{run, &dropped, [](void* p) { *static_cast<bool*>(p) = true; }};
  EXPECT_THROW(library_impl(*find_op("erfinv"), LibraryKey::composite_implicit, k), Error);
  EXPECT_TRUE(dropped);
}

TEST(Library, OverloadsJoinAndLeaveWhileOthersLookThemUp) {
  const OpEntry& e = library_define("fblooking::f(Tensor x) -> Tensor");
  const Tensor x = op<"ones">(Ints{2});
  Racers racers(2, [&] {
    const Value v[] = {Value(x)};
    bool found = false;
    for (const Packet* p : all_packets()) found |= p->name == "fblooking::f";
    return found && &resolve_op("fblooking::f", v, 1) == &e;
  });
  for (int i = 0; i < 200 || racers.rounds() < 200; ++i) {
    const OpEntry& second = library_define("fblooking::f.second(Tensor x, int n) -> Tensor");
    EXPECT_THROW(library_define("fblooking::f.second(Tensor x, int n) -> Tensor"), Error);
    library_undefine(second);
  }
  EXPECT_EQ(racers.stop(), 0);
  library_undefine(e);
}

}  // namespace
}  // namespace fb
