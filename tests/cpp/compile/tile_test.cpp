// The language itself: random programs mean the same to the interpreter and to the machine, before and after each pass;
// programs that are not well formed are refused with a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "compile/passes/passes.h"
#include "compile/pipeline.h"
#include "compile/tile/builder.h"
#include "compile/tile/named.h"
#include "core/error.h"

namespace fb::tile {
namespace {

constexpr int kChanged = 4096;   // where atomics change memory

// Writes random programs: arithmetic of every type, conversions, masked memory, loops, named and patched functions.
struct Writer {
  std::mt19937_64 g;
  Program p;
  Builder b{p};
  int lanes;
  Id in, out, n;
  std::vector<Id> values;
  int stored = 0;

  explicit Writer(uint64_t seed) : g(seed), lanes(g() % 12 ? 1 << g() % 4 : 16 << g() % 2) {
    p.name = "random" + std::to_string(seed);
    in = b.parameter("in", Elem::address);
    out = b.parameter("out", Elem::address);
    n = b.parameter("n", Elem::i64);
  }
  int below(int k) { return int(g() % uint64_t(k)); }
  Elem any_elem() { return Elem(below(int(Elem::f64) + 1)); }
  Id pick(Elem e) {
    std::vector<Id> fit;
    for (Id v : values)
      if (b.type(v).elem == e) fit.push_back(v);
    if (!fit.empty() && below(8)) return fit[size_t(below(int(fit.size())))];
    return fresh(e);
  }
  Id add(Id v) {
    values.push_back(v);
    return v;
  }
  Id fresh(Elem e) {
    if (below(3) == 0 && !is_half(e)) {
      if (is_float(e)) return add(b.splat(b.real(e, std::ldexp(double(below(1000) - 500), below(20) - 10)), lanes));
      return add(b.splat(b.constant_bits(e, e == Elem::b1 ? below(2) : int64_t(g() & (bytes_of(e) == 8 ? ~0ull : (1ull << (8 * bytes_of(e))) - 1))), lanes));
    }
    if (below(6) == 0 && is_integer(e)) {
      const int64_t mask = bytes_of(e) == 8 ? -1 : (int64_t(1) << (8 * bytes_of(e))) - 1;
      return add(b.ramp(b.constant_bits(e, int64_t(g()) & mask), b.integer(int64_t(g())), lanes));
    }
    const int step = below(3) ? bytes_of(e) : bytes_of(e) + below(5);
    const Id at = b.ramp(b.apply(Op::add, in, b.integer(below(64))), b.integer(step), lanes);
    if (below(2)) return add(b.load(at, e));
    return add(b.load(at, e, pick(Elem::b1), pick(e)));
  }
  void one() {
    const Elem e = any_elem();
    switch (below(14)) {
      case 0: case 1: case 2: {
        if (is_half(e)) return;
        if (e == Elem::b1) {
          constexpr Op k[] = {Op::bit_and, Op::bit_or, Op::bit_xor};
          add(b.apply(k[below(3)], pick(e), pick(e)));
        } else if (is_float(e)) {
          constexpr Op k[] = {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max, Op::copysign};
          add(b.apply(k[below(7)], pick(e), pick(e)));
        } else {
          constexpr Op k[] = {Op::add, Op::sub, Op::mul, Op::div, Op::rem, Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr, Op::sar};
          add(b.apply(k[below(13)], pick(e), pick(e)));
        }
        return;
      }
      case 3: {
        if (e == Elem::b1) add(b.apply(Op::bit_not, pick(e)));
        else if (is_float(e)) {
          constexpr Op k[] = {Op::neg, Op::sqrt, Op::abs, Op::floor, Op::ceil, Op::trunc, Op::rint};
          add(b.apply(k[below(7)], pick(e)));
        } else if (is_integer(e)) {
          constexpr Op k[] = {Op::neg, Op::abs, Op::bit_not};
          add(b.apply(k[below(3)], pick(e)));
        }
        return;
      }
      case 4:
        if (is_float(e)) add(b.apply(Op::fma, pick(e), pick(e), pick(e)));
        return;
      case 5: case 6:
        if (!is_half(e)) add(b.apply(Op(int(Op::lt) + below(6)), pick(e), pick(e)));
        return;
      case 7: add(b.apply(Op::select, pick(Elem::b1), pick(e), pick(e))); return;
      case 8: add(b.convert(pick(e), any_elem())); return;
      case 9: {
        const Elem f = below(2) ? Elem::f32 : Elem::f64;
        // Near enough for every integer, and no NaN: what lies past that has no meaning.
        const Id x = b.apply(Op::min, b.apply(Op::max, pick(f), b.splat(b.real(f, -1e6), lanes)), b.splat(b.real(f, 1e6), lanes));
        add(b.to_int(x));
        return;
      }
      case 12: add(b.splat(b.any(pick(Elem::b1)), lanes)); return;
      case 13: {  // behind what stores write
        if (!is_integer(e)) return;
        const Id at = b.ramp(b.apply(Op::add, out, b.integer(kChanged + 8 * below(16))), b.integer(8 * below(3)), lanes);
        const auto kind = Atomic(below(int(Atomic::exchange_if) + 1));
        add(b.atomic(kind, at, pick(e), pick(Elem::b1), kind == Atomic::exchange_if ? pick(e) : kNone));
        return;
      }
      case 10: {
        if (below(4)) return;  // long texts
        static const Named* const k[] = {&named_exp, &named_log, &named_sin, &named_tanh, &named_sigmoid, &named_erf};
        const Id x[] = {pick(below(2) ? Elem::f32 : Elem::f64)};
        add(b.call(*k[below(6)], x, 1));
        return;
      }
      default: {
        const Thunk t{[](int64_t, void* o, const void* const* x) { *static_cast<double*>(o) = 2 * *static_cast<const double*>(x[0]) + 1; }, 0};
        const Id x[] = {pick(Elem::f64)};
        add(below(2) ? b.patch(t, pick(Elem::b1), pick(Elem::f64), x, 1) : b.lanes(t, Elem::f64, x, 1));
      }
    }
  }
  void keep(Id v) {  // 512 bytes for each value kept
    const bool run = below(3);
    const Id at = b.ramp(b.apply(Op::add, out, b.integer(512 * stored++)), b.integer(run ? bytes_of(b.type(v).elem) : 13), lanes);
    if (run && below(4) == 0) b.store_past_cache(at, v);
    else if (below(2)) b.store(at, v);
    else b.store(at, v, pick(Elem::b1));
  }
  Program write() {
    for (int i = 0; i < 4; ++i) fresh(any_elem());
    for (int i = below(8); i >= 0; --i) one();
    if (below(3) == 0) {
      const Elem e = below(2) ? Elem::f32 : Elem::i64;
      std::vector<Id> carried{pick(e), pick(Elem::i32)};
      const std::vector<Id> before = values;
      b.loop(b.integer(below(3)), below(2) ? n : b.integer(below(9)), b.integer(1 + below(3)), carried, [&](Id i, std::vector<Id>& c) {
        add(c[0]), add(c[1]), add(b.splat(i, lanes));
        for (int k = below(4); k >= 0; --k) one();
        if (below(2)) b.raise_if(pick(Elem::b1), kZeroDivisor);
        c = {pick(e), pick(Elem::i32)};
      });
      values = before;
      add(carried[0]), add(carried[1]);
    }
    if (below(4) == 0) {  // until a count is reached, or some lane's value is
      const Elem e = below(2) ? Elem::f64 : Elem::i16;
      std::vector<Id> carried{b.any(pick(Elem::b1)), b.constant_bits(Elem::i32, 0), pick(e)};
      const std::vector<Id> before = values;
      b.loop_while(carried, [&](std::vector<Id>& c) {
        add(c[2]), add(b.splat(c[1], lanes));
        for (int k = below(4); k >= 0; --k) one();
        const Id count = b.apply(Op::add, c[1], b.constant_bits(Elem::i32, 1));
        const Id more = b.apply(Op::lt, count, b.constant_bits(Elem::i32, below(6)));
        c = {below(2) ? b.apply(Op::bit_and, more, b.any(pick(Elem::b1))) : more, count, pick(e)};
      });
      values = before;
      add(b.splat(carried[1], lanes)), add(carried[2]);
    }
    if (below(4) == 0) {  // where some lane says so
      const Elem e = any_elem();
      std::vector<Id> carried{pick(e)};
      const std::vector<Id> before = values;
      b.loop(b.integer(0), b.convert(b.any(pick(Elem::b1)), Elem::i64), b.integer(1), carried, [&](Id i, std::vector<Id>& c) {
        add(c[0]), add(b.splat(i, lanes));
        for (int k = below(4); k >= 0; --k) one();
        c = {pick(e)};
      });
      values = before;
      add(carried[0]);
    }
    for (int i = below(3); i >= 0; --i) one();
    if (lanes > 1) {
      Id v = pick(below(2) ? Elem::f32 : Elem::i32);
      Id w = b.apply(Op::add, b.apply(Op::low, v), b.apply(Op::high, v));
      add(b.splat(w, b.type(w).lanes));
      if (b.type(w).lanes > 1) values.pop_back();
      else add(b.splat(w, lanes));
      values.erase(std::remove_if(values.begin(), values.end(), [&](Id x) { return b.type(x).lanes != lanes; }), values.end());
    }
    for (int i = 0; i < 4; ++i) keep(values[size_t(below(int(values.size())))]);
    return p;
  }
};

struct Memory {
  std::vector<char> in, room;
  char* out;                     // 8192 bytes on a border that stores past the cache ask for
  explicit Memory(uint64_t seed) : in(2048), room(8192 + 64), out(room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64)) {
    std::mt19937_64 g(seed);
    for (size_t i = 0; i < in.size(); ++i) in[i] = char(g());
    // Truth values are any byte; a zero now and then.
    for (size_t i = 0; i < in.size(); i += 3)
      if (g() % 3 == 0) in[i] = 0;
  }
  Memory(const Memory&) = delete;
  std::vector<int64_t> words() { return {reinterpret_cast<int64_t>(in.data()), reinterpret_cast<int64_t>(out), 5}; }
  std::vector<char> written() const { return {out, out + 8192}; }
};

// Bytes, but a NaN equals a NaN: stores are compared value by value.
bool same_stores(const Program& p, Memory& x, Memory& y) {
  int index = 0;
  for (Id id : p.regions[0].body) {
    const Node& n = p[id];
    if (n.op != Op::store) continue;
    const Elem e = p[n.in[1]].type.elem;
    const Node& ramp = p[n.in[0]];
    const int64_t step = p[ramp.in[1]].imm;
    for (int l = 0; l < p[n.in[0]].type.lanes; ++l) {
      const char *a = &x.out[size_t(512 * index + step * l)], *c = &y.out[size_t(512 * index + step * l)];
      if (std::memcmp(a, c, size_t(bytes_of(e))) == 0) continue;
      auto nan = [&]<class T>(T) {
        T u, v;
        std::memcpy(static_cast<void*>(&u), a, sizeof u);
        std::memcpy(static_cast<void*>(&v), c, sizeof v);
        return std::isnan(double(float(u))) && std::isnan(double(float(v)));
      };
      if ((e == Elem::f32 && nan(float())) || (e == Elem::f64 && nan(double())) || (e == Elem::f16 && nan(half())) || (e == Elem::bf16 && nan(bfloat16()))) continue;
      return false;
    }
    ++index;
  }
  return std::memcmp(&x.out[kChanged], &y.out[kChanged], 1024) == 0;
}
// Calls check(seed) for the seeds from `first` on, over all processors; fails with the first text that it gives.
// FB_FUZZ_PROGRAMS and FB_FUZZ_FIRST: how many, and how many of them are left out (the nightly target runs a million).
template <class F> void for_seeds(uint64_t first, uint64_t usual, F&& check) {
  const auto given = [](const char* name, uint64_t other) {
    const char* n = std::getenv(name);
    return n ? uint64_t(std::atoll(n)) : other;
  };
  const uint64_t from = first + given("FB_FUZZ_FIRST", 0), to = from + given("FB_FUZZ_PROGRAMS", usual);
  std::atomic<uint64_t> next{from};
  std::mutex lock;
  std::string failure;
  auto work = [&] {
    for (uint64_t seed; (seed = next++) < to;) {
      const std::string what = check(seed);
      if (what.empty()) continue;
      const std::lock_guard<std::mutex> hold(lock);
      if (failure.empty()) failure = "seed " + std::to_string(seed) + ": " + what;
      next = to;
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  ASSERT_EQ(failure, "");
}

TEST(Tile, RandomProgramsMeanTheSameToTheMachine) {
  for_seeds(0, 10000, [](uint64_t seed) -> std::string {
    const Program p = Writer(seed).write();
    if (const std::string fault = verify(p); !fault.empty()) return fault + "\n" + print(p);
    // By turns with functions expanded, and called.
    const Program lowered = seed % 2 ? compile::lower_for_cpu(p) : compile::lower(p);
    Memory a(seed), c(seed), m(seed);
    const int32_t ea = interpret(p, a.words().data()), ec = interpret(lowered, c.words().data());
    if (ea != ec || !same_stores(p, a, c)) return "the passes changed\n" + print(p);
    const Ref<compile::Code> code = compile::make_code(lowered);
    if (!code) return "no code for\n" + print(lowered);
    if (code->entry(m.words().data()) != ea || !same_stores(p, a, m)) return "the machine differs for\n" + print(lowered);
    return "";
  });
}

TEST(Tile, PassesChangeNothing) {
  for_seeds(1000000, 10000, [](uint64_t seed) -> std::string {
    const Program p = Writer(seed).write();
    Memory a(seed), c(seed), d(seed);
    const int32_t ea = interpret(p, a.words().data());
    const int32_t ec = interpret(compile::lower(p), c.words().data()), ed = interpret(compile::lower_for_cpu(p), d.words().data());
    return ea == ec && same_stores(p, a, c) && ea == ed && same_stores(p, a, d) ? "" : "changed\n" + print(p);
  });
}

// What is read from disk may be anything.
TEST(Tile, DamagedObjectsAreRefusedOrHarmless) {
  const Program p = compile::lower_for_cpu(Writer(11).write());
  const std::string good = compile::make_object(p);
  ASSERT_NE(compile::load_object(good, p), nullptr);
  EXPECT_EQ(compile::load_object("", p), nullptr);
  EXPECT_EQ(compile::load_object(std::string(5000, 'x'), p), nullptr);
  for (size_t n = 0; n < good.size(); n += 7) compile::load_object(good.substr(0, n), p);
  std::mt19937_64 g(1);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 4; ++k) bad[g() % bad.size()] = char(g());
    compile::load_object(bad, p);   // taken or not, it reads and writes only where it may
  }
}

// What a program says, it says in the same order to the interpreter and to the machine; floats are changed in memory alike.
TEST(Tile, MessagesAndChangesOfFloats) {
  static std::vector<double> heard;
  const Thunk hear{[](int64_t times, void*, const void* const* in) {
                     double x;
                     int32_t i;
                     std::memcpy(&x, in[0], sizeof x);
                     std::memcpy(&i, in[1], sizeof i);
                     heard.push_back(x * double(times) + i);
                   }, 1000};
  for (int lanes : {1, 2, 8, 32})
    for (Elem e : {Elem::f32, Elem::f64})
      for (Atomic kind : {Atomic::add, Atomic::min, Atomic::max, Atomic::exchange, Atomic::exchange_if}) {
        Program p;
        p.name = "says";
        Builder b(p);
        const Id in = b.parameter("in", Elem::address), out = b.parameter("out", Elem::address), n = b.parameter("n", Elem::i64);
        const Id x = b.load(b.ramp(in, b.integer(bytes_of(e)), lanes), e);
        const Id i = b.ramp(b.constant_bits(Elem::i32, 5), b.integer(2), lanes);
        const Id on = b.apply(Op::lt, i, b.convert(b.apply(Op::mul, n, b.integer(4)), Elem::i32));
        const Id said[] = {b.convert(x, Elem::f64), i};
        b.tell(hear, on, said, 2);
        const Id at = b.ramp(b.apply(Op::add, out, b.integer(64)), b.integer(lanes > 8 ? 0 : 8), lanes);
        const Id old = b.atomic(kind, at, x, on, kind == Atomic::exchange_if ? b.splat(b.real(e, 0), lanes) : kNone);
        b.store(b.ramp(out, b.integer(bytes_of(e)), lanes), old);
        ASSERT_EQ(verify(p), "");
        auto run = [&](bool machine) {
          Memory m(0);
          for (size_t k = 0; k + 8 <= m.in.size(); k += size_t(bytes_of(e))) {
            const double v = double(k) * 0.75 - 100;
            const float f = float(v);
            std::memcpy(&m.in[k], e == Elem::f32 ? static_cast<const void*>(&f) : &v, size_t(bytes_of(e)));
          }
          heard.clear();
          const Program lowered = compile::lower(p);
          if (machine) compile::make_code(lowered)->entry(m.words().data());
          else interpret(lowered, m.words().data());
          return std::pair{m.written(), heard};
        };
        const auto a = run(false), c = run(true);
        EXPECT_EQ(a.first, c.first) << lanes << name_of(e) << int(kind);
        EXPECT_EQ(a.second, c.second);
        EXPECT_EQ(a.second.size(), size_t(std::min(lanes, 8)));
      }
}

// A node of two f32 tiles becomes one that hands so many operands to a function of single lanes.
void apart(Program& p, Id i, Op op, int operands) {
  const Id x = p[i].in[0], truth = [&] {
    for (Id k = 0; k < i; ++k)
      if (p[k].op == Op::lt) return k;
    return kNone;
  }();
  p.thunks.push_back({[](int64_t, void*, const void* const*) {}, 0});
  p[i].op = op;
  p[i].imm = 0;
  p[i].in.clear();
  for (int k = 0; k < operands; ++k) p[i].in.push_back(k == 0 && op != Op::lanes ? truth : x);
  if (op == Op::tell) p[i].type = {};
}

// As many operands as a function of single lanes may have: every one arrives, with the interpreter and with the machine.
TEST(Tile, FunctionsOfSingleLanesTakeTheMostValues) {
  static std::vector<double> heard;
  const auto sum = [](int64_t, void* out, const void* const* in) {
    double s = 0;
    for (int i = 0; i < kMostApart; ++i) {
      double x;
      std::memcpy(&x, in[i], 8);
      s = 2 * s + x;
    }
    if (out) std::memcpy(out, &s, 8);
    else heard.push_back(s);
  };
  for (int lanes : {1, 4, kMostLanes}) {
    Program p;
    p.name = "widest";
    Builder b(p);
    b.parameter("in", Elem::address);
    const Id out = b.parameter("out", Elem::address);
    b.parameter("n", Elem::i64);
    const Id i = b.ramp(b.integer(1), b.integer(1), lanes), on = b.apply(Op::lt, i, b.integer(4)), fi = b.convert(i, Elem::f64);
    Id x[kMostApart];
    for (int k = 0; k < kMostApart; ++k) x[k] = b.apply(Op::add, fi, b.real(Elem::f64, k));
    const Thunk f{sum, 0};
    b.store(b.ramp(out, b.integer(8), lanes), b.lanes(f, Elem::f64, x, kMostApart));
    b.store(b.ramp(b.apply(Op::add, out, b.integer(8 * lanes)), b.integer(8), lanes), b.patch(f, on, fi, x, kMostApart));
    b.tell(f, on, x, kMostApart);
    Id more[kMostApart + 1] = {};
    EXPECT_THROW(b.lanes(f, Elem::f64, more, kMostApart + 1), Error);
    EXPECT_THROW(b.patch(f, on, fi, more, kMostApart + 1), Error);
    EXPECT_THROW(b.tell(f, on, more, kMostApart + 1), Error);
    ASSERT_EQ(verify(p), "");
    std::vector<double> want(size_t(2 * lanes)), told;
    for (int l = 0; l < lanes; ++l) {
      for (int k = 0; k < kMostApart; ++k) want[size_t(l)] = 2 * want[size_t(l)] + (l + 1 + k);
      want[size_t(lanes + l)] = l < 3 ? want[size_t(l)] : l + 1;
      if (l < 3) told.push_back(want[size_t(l)]);
    }
    const Program lowered = compile::lower(p);
    for (bool machine : {false, true}) {
      std::vector<double> got(size_t(2 * lanes));
      const int64_t words[] = {0, reinterpret_cast<int64_t>(got.data()), 0};
      heard.clear();
      if (machine) compile::make_code(lowered)->entry(words);
      else interpret(lowered, words);
      EXPECT_EQ(got, want) << lanes;
      EXPECT_EQ(heard, told) << lanes;
    }
  }
}

// A negative constant has the bits of its element: a comparing exchange by the interpreter finds it, as the machine does.
TEST(Tile, ConstantsAreTheirElementsBits) {
  for (Elem e : {Elem::i8, Elem::i16, Elem::i32, Elem::i64}) {
    int64_t memory[2][1];
    for (bool machine : {false, true}) {
      Program p;
      p.name = "exchange";
      Builder b(p);
      const Id at = b.parameter("at", Elem::address);
      b.atomic(Atomic::exchange_if, at, b.constant_bits(e, 5), b.constant_bits(Elem::b1, 1), b.constant_bits(e, -1));
      const Program lowered = compile::lower(p);
      memory[machine][0] = -1;
      const int64_t words[] = {reinterpret_cast<int64_t>(memory[machine])};
      if (machine) compile::make_code(lowered)->entry(words);
      else interpret(lowered, words);
    }
    EXPECT_EQ(memory[0][0], memory[1][0]) << name_of(e);
    EXPECT_EQ(memory[0][0] & 0xff, 5) << name_of(e);
  }
}

// Each breaks one rule of a good program.
TEST(Tile, VerifierRefusesBrokenPrograms) {
  auto good = [] {
    Program p;
    p.name = "good";
    Builder b(p);
    const Id in = b.parameter("in", Elem::address);
    const Id x = b.load(b.ramp(in, b.integer(4), 8), Elem::f32);
    const Id m = b.apply(Op::lt, x, b.real(Elem::f32, 1));
    std::vector<Id> c{b.apply(Op::select, m, x, b.apply(Op::add, x, x))};
    b.loop(b.integer(0), b.integer(4), b.integer(1), c, [&](Id, std::vector<Id>& v) { v[0] = b.apply(Op::mul, v[0], x); });
    b.raise_if(b.apply(Op::lt, c[0], b.convert(b.load(in, Elem::i32), Elem::f32)), kZeroDivisor);
    b.store(b.ramp(in, b.integer(4), 8), c[0]);
    return p;
  };
  ASSERT_EQ(verify(good()), "");
  auto find = [](const Program& p, Op op) {
    for (Id i = 0; i < Id(p.nodes.size()); ++i)
      if (p[i].op == op) return i;
    return kNone;
  };
  using Break = void (*)(Program&, Id);
  struct Case {
    Op op;
    Break how;
    const char* says;
  };
  const Case cases[] = {
      {Op::add, [](Program& p, Id i) { p[i].in[1] = Id(p.nodes.size()) - 1; }, "not defined before its use"},
      {Op::add, [](Program& p, Id i) { p[i].in[0] = 99999; }, "not defined before its use"},
      {Op::add, [](Program& p, Id i) { p[i].in = {p[i].in[0]}; }, "wrong number of operands"},
      {Op::add, [](Program& p, Id i) { p[i].type.elem = Elem::f64; }, "differ in type"},
      {Op::add, [](Program& p, Id i) { p[i].type.lanes = 3; }, "power of two"},
      {Op::lt, [](Program& p, Id i) { p[i].type.elem = Elem::f32; }, "gives truth values"},
      {Op::select, [](Program& p, Id i) { p[i].in[0] = p[i].in[1]; }, "must be truth values"},
      {Op::load, [](Program& p, Id i) { p[i].type.lanes = 4; }, "must have the result's lanes"},
      {Op::store, [](Program& p, Id i) { p[i].in[1] = p[i].in[0]; }, "do not fit"},
      {Op::ramp, [](Program& p, Id i) { p[i].type.elem = Elem::f32; }, "ramps are of"},
      {Op::parameter, [](Program& p, Id i) { p[i].imm = 7; }, "no such parameter"},
      {Op::loop, [](Program& p, Id i) { p[i].region = 9; }, "no such region"},
      {Op::loop, [](Program& p, Id i) { p.regions[size_t(p[i].region)].body.pop_back(); }, "does not end in yield"},
      {Op::loop, [](Program& p, Id i) { p.regions[size_t(p[i].region)].arguments.pop_back(); }, "does not take the index"},
      {Op::yield, [](Program& p, Id i) { p[i].in.clear(); }, "another number of values"},
      {Op::result, [](Program& p, Id i) { p[i].imm = 1; }, "carries no such value"},
      {Op::result, [](Program& p, Id i) { p[i].type.elem = Elem::f64; }, "differs from the carried value"},
      {Op::constant, [](Program& p, Id i) { p[i].type.elem = Elem::address; }, "constants are"},
      {Op::mul, [](Program& p, Id i) { p[i].op = Op::rem; }, "takes integers"},
      {Op::mul, [](Program& p, Id i) { p[i].op = Op::call; p[i].callee = &named_exp; }, "does not fit its function"},
      {Op::mul, [](Program& p, Id i) { p[i].op = Op::lanes; p[i].imm = 3; }, "no such function"},
      {Op::add, [](Program& p, Id i) { p.regions[0].body.push_back(i); }, "stands in two places"},
      // What machine code, the interpreter and the loader take for granted.
      {Op::mul, [](Program& p, Id i) { apart(p, i, Op::lanes, kMostApart + 1); }, "more values than it takes"},
      {Op::mul, [](Program& p, Id i) { apart(p, i, Op::patch, 2 + kMostApart + 1); }, "more values than it takes"},
      {Op::mul, [](Program& p, Id i) { apart(p, i, Op::tell, 1 + kMostApart + 1); }, "more values than it takes"},
      {Op::mul, [](Program& p, Id i) { apart(p, i, Op::lanes, 2); p.thunks[0].fn = nullptr; }, "no such function"},
      {Op::mul, [](Program& p, Id i) { apart(p, i, Op::lanes, 2); p[i].type.elem = Elem::none; }, "a value without type"},
      {Op::mul, [](Program& p, Id i) { p[i].op = Op::call; p[i].callee = nullptr; }, "no such function"},
      {Op::mul, [](Program& p, Id i) {
         static Named other = named_atan2;   // of a name that means another function to the loader
         p[i].op = Op::call;
         p[i].callee = &other;
       }, "no such function"},
      {Op::convert, [](Program& p, Id i) { p[i].type.elem = Elem::none; }, "a value without type"},
      {Op::load, [](Program& p, Id i) { p[i].type.elem = Elem(99); }, "of no type"},
      {Op::add, [](Program& p, Id i) { p[i].op = Op(200); }, "is no operator"},
      {Op::store, [](Program& p, Id i) { p[i].type.elem = Elem::f32; }, "has no value"},
      {Op::raise_if, [](Program& p, Id i) { p[i].imm = 40; }, "no such error"},
      {Op::raise_if, [](Program& p, Id i) { p[i].imm = -1; }, "no such error"},
      {Op::splat, [](Program& p, Id i) { p[i].type.lanes = 2 * kMostLanes; }, "more lanes than tiles have"},
      {Op::parameter, [](Program& p, Id i) { p.parameters[size_t(p[i].imm)].type = p[i].type = {Elem::f32, 1}; }, "is not one word"},
      {Op::parameter, [](Program& p, Id i) { p.parameters[size_t(p[i].imm)].type = p[i].type = {Elem::address, 2}; }, "is not one word"},
      {Op::loop, [](Program& p, Id i) { p[p[i].in[2]].imm = 0; }, "steps backwards"},
      {Op::loop, [](Program& p, Id i) { p[i].imm = 2; }, "of no such kind"},
      {Op::loop, [](Program& p, Id i) {          // a loop within itself
         auto& body = p.regions[size_t(p[i].region)].body;
         body.insert(body.begin(), i);
       }, "stands in two places"},
      {Op::loop, [](Program& p, Id i) {          // its body is that of another loop
         p.nodes.push_back(p[i]);
         auto& body = p.regions[0].body;
         body.insert(std::find(body.begin(), body.end(), i) + 1, Id(p.nodes.size()) - 1);
       }, "region of another loop"},
      {Op::loop, [](Program& p, Id i) { p.regions[size_t(p[i].region)].body.back() = 99999; }, "does not end in yield"},
      {Op::loop, [](Program& p, Id i) { p.regions[size_t(p[i].region)].body[0] = -5; }, "a value that is not there"},
      {Op::loop, [](Program& p, Id i) { p.regions[size_t(p[i].region)].arguments[1] = 99999; }, "an argument is none"},
      {Op::loop, [](Program& p, Id) { p.regions.emplace_back().body = {12345}; }, "is of no loop"},
      {Op::result, [](Program& p, Id i) { p[i].imm = INT64_MAX; }, "carries no such value"},
      {Op::result, [](Program& p, Id i) { p[i].in[0] = p[i].in[0] - 1; }, "is not of a loop"},
  };
  for (const Case& c : cases) {
    Program p = good();
    const Id at = find(p, c.op);
    ASSERT_NE(at, kNone) << name_of(c.op);
    c.how(p, at);
    const std::string fault = verify(p);
    EXPECT_NE(fault.find(c.says), std::string::npos) << name_of(c.op) << ": " << fault;
    EXPECT_THROW(compile::lower(p), Error);
  }
}

}  // namespace
}  // namespace fb::tile
