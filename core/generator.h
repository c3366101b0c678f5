// Sources of random numbers. The CPU's is the Mersenne Twister MT19937 of Matsumoto and Nishimura
// (1998), drawn from in PyTorch's order, so that a seed gives PyTorch's numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace fb {

class Mt19937 {
 public:
  static constexpr int size = 624;

  explicit Mt19937(uint32_t seed_value = 5489) { seed(seed_value); }
  void seed(uint32_t value);
  uint32_t next() {
    if (--left_ == 0) advance();
    return temper(state_[next_++]);
  }
  // The next n words; the same as n calls of next(), faster.
  void fill(uint32_t* out, int64_t n);

  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

 private:
  friend class Generator;
  void advance();  // the next 624 words of state

  alignas(32) uint32_t state_[size];
  uint32_t left_;  // words until advance(), plus one
  uint32_t next_;
};

// One stream with its lock: whoever draws holds `mutex`. Copies take the stream, not the lock.
class Generator {
 public:
  static constexpr uint64_t default_seed = 67280421310721;
  static constexpr size_t state_size = 5056;  // bytes of PyTorch's CPU state tensor

  explicit Generator(uint64_t seed = default_seed) { manual_seed(seed); }
  Generator(const Generator& other) { *this = other; }
  Generator& operator=(const Generator& other);

  std::mutex mutex;

  void manual_seed(uint64_t seed);
  uint64_t seed();  // reseeds from the system's entropy and returns the seed
  uint64_t initial_seed() const { return seed_; }

  // PyTorch's state tensor: seed, position, the 624 words, and the normals drawn ahead.
  void get_state(uint8_t out[state_size]) const;
  // False where the bytes are not a state (wrong size is checked by the caller).
  bool set_state(const uint8_t in[state_size]);

  uint32_t random() { return engine.next(); }
  uint64_t random64() {
    uint64_t high = engine.next();
    return high << 32 | engine.next();
  }
  // In [0, 1), of 24 and 53 bits.
  float uniform_float() { return float(random() & 0xffffff) * 0x1p-24f; }
  double uniform_double() { return double(random64() & ((1ull << 53) - 1)) * 0x1p-53; }
  // Of mean 0 and deviation 1 (Box and Muller): each second one is kept from the call before.
  double normal();

  Mt19937 engine;

 private:
  uint64_t seed_;
  double next_normal_ = 0;
  bool has_next_normal_ = false;
  float next_float_normal_ = 0;  // no draw uses them; they are part of the state's bytes
  bool has_next_float_normal_ = false;
};

// Seeded with default_seed when the program starts.
Generator& default_cpu_generator();

// 64 bits that no one can foresee.
uint64_t system_random64();

}  // namespace fb
