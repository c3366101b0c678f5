#include "core/generator.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/no_fork.h"

namespace fb {
namespace {

constexpr double pi = 3.14159265358979323846;

typedef uint32_t Words __attribute__((vector_size(32)));
constexpr int lanes = 8;

Words load(const uint32_t* p) {
  Words w;
  std::memcpy(&w, p, sizeof w);
  return w;
}
void store(uint32_t* p, Words w) { std::memcpy(p, &w, sizeof w); }

// One step of the recurrence, for a word or a vector of them: the top bit of u and the rest of v,
// times the matrix, plus the word 397 places on.
template <class V>
V step(V u, V v, V far) {
  V mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
  return far ^ (mixed >> 1) ^ ((0u - (v & 1u)) & 0x9908b0dfu);
}

Words temper_all(Words y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

template <class T>
void put(uint8_t* out, size_t at, T value) {
  std::memcpy(out + at, &value, sizeof value);
}
template <class T>
T get(const uint8_t* in, size_t at) {
  T value;
  std::memcpy(&value, in + at, sizeof value);
  return value;
}

}  // namespace

void Mt19937::seed(uint32_t value) {
  state_[0] = value;
  for (uint32_t i = 1; i < size; i++)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  left_ = 1;
  next_ = 0;
}

void Mt19937::advance() {
  constexpr int middle = 397, first = size - middle;
  uint32_t* s = state_;
  int k = 0;
  // Vectors read their neighbours before anything overwrites them, and new words 227 places behind.
  for (; k + lanes <= first; k += lanes) store(s + k, step(load(s + k), load(s + k + 1), load(s + k + middle)));
  for (; k < first; k++) s[k] = step(s[k], s[k + 1], s[k + middle]);
  for (; k + lanes <= size - 1; k += lanes)
    store(s + k, step(load(s + k), load(s + k + 1), load(s + k - first)));
  for (; k < size - 1; k++) s[k] = step(s[k], s[k + 1], s[k - first]);
  s[k] = step(s[k], s[0], s[k - first]);
  left_ = size;
  next_ = 0;
}

void Mt19937::fill(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (left_ == 1) {
      advance();
      left_ = size + 1;  // none of the new words is taken yet
    }
    int m = int(std::min<int64_t>(n, left_ - 1));
    const uint32_t* s = state_ + next_;
    int i = 0;
    for (; i + lanes <= m; i += lanes) store(out + i, temper_all(load(s + i)));
    for (; i < m; i++) out[i] = temper(s[i]);
    out += m;
    n -= m;
    left_ -= uint32_t(m);
    next_ += uint32_t(m);
  }
}

Generator& Generator::operator=(const Generator& other) {
  engine = other.engine;
  seed_ = other.seed_;
  next_normal_ = other.next_normal_;
  has_next_normal_ = other.has_next_normal_;
  next_float_normal_ = other.next_float_normal_;
  has_next_float_normal_ = other.has_next_float_normal_;
  return *this;
}

void Generator::manual_seed(uint64_t seed) {
  seed_ = seed;
  engine.seed(uint32_t(seed));
  has_next_normal_ = has_next_float_normal_ = false;
}

uint64_t Generator::seed() {
  manual_seed(system_random64());
  return seed_;
}

double Generator::normal() {
  if (has_next_normal_) {
    has_next_normal_ = false;
    return next_normal_;
  }
  double u1 = uniform_double(), u2 = uniform_double();
  double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * pi * u1;
  next_normal_ = radius * std::sin(angle);
  has_next_normal_ = true;
  return radius * std::cos(angle);
}

// The layout of the state tensor, in bytes.
enum : size_t {
  at_seed = 0, at_left = 8, at_seeded = 12, at_next = 16, at_words = 24, word_stride = 8,
  at_normal = 5024, at_has_normal = 5040, at_float_normal = 5048, at_has_float_normal = 5052,
};

void Generator::get_state(uint8_t out[state_size]) const {
  std::memset(out, 0, state_size);
  put(out, at_seed, seed_);
  put(out, at_left, int32_t(engine.left_));
  put(out, at_seeded, int32_t(1));
  put(out, at_next, uint64_t(engine.next_));
  for (size_t i = 0; i < Mt19937::size; i++)
    put(out, at_words + i * word_stride, uint64_t(engine.state_[i]));
  if (has_next_normal_) {
    put(out, at_normal, next_normal_);
    put(out, at_has_normal, int32_t(1));
  }
  if (has_next_float_normal_) {
    put(out, at_float_normal, next_float_normal_);
    out[at_has_float_normal] = 1;
  }
}

bool Generator::set_state(const uint8_t in[state_size]) {
  int32_t left = get<int32_t>(in, at_left);
  uint64_t next = get<uint64_t>(in, at_next);
  if (get<int32_t>(in, at_seeded) != 1 || left < 1 || left > Mt19937::size) return false;
  // Every word up to the next advance() must lie inside the state.
  if (next > Mt19937::size || next + uint64_t(left) - 1 > Mt19937::size) return false;
  seed_ = get<uint64_t>(in, at_seed);
  engine.left_ = uint32_t(left);
  engine.next_ = uint32_t(next);
  for (size_t i = 0; i < Mt19937::size; i++)
    engine.state_[i] = uint32_t(get<uint64_t>(in, at_words + i * word_stride));
  has_next_normal_ = get<int32_t>(in, at_has_normal) != 0;
  next_normal_ = has_next_normal_ ? get<double>(in, at_normal) : 0;
  has_next_float_normal_ = in[at_has_float_normal] != 0;
  next_float_normal_ = has_next_float_normal_ ? get<float>(in, at_float_normal) : 0;
  return true;
}

Generator& default_cpu_generator() {
  static constinit FirstUse<Generator> generator;  // may be used by static destructors
  return generator.get([] { return Generator(); });
}

uint64_t system_random64() {
  uint64_t value = 0;
  if (getrandom(&value, sizeof value, 0) == ssize_t(sizeof value)) return value;
  // No entropy source (a very restricted container): time and process make do.
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  value = uint64_t(now.tv_sec) * 1000000007u ^ uint64_t(now.tv_nsec) << 20 ^ uint64_t(getpid()) << 40;
  return value * 0x9e3779b97f4a7c15ull;
}

}  // namespace fb
