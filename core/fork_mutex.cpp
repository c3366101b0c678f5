// What fork() waits for, in this order: work that is not to be cut in two, then the locks of tables. The allocator's lock comes
// last, so that both may take memory.
#include "core/fork_mutex.h"

#include <pthread.h>

#include <mutex>
#include <new>

#include "core/allocator.h"
#include "core/no_fork.h"

namespace fb {
namespace {

// Those within NoFork, and those that fork. Either side counts itself first and then looks at the other.
constinit std::atomic<int> within{0}, forking{0};
thread_local int depth = 0;

// Who waits for the other side.
pthread_mutex_t moves = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

struct Moves {
  Moves() { pthread_mutex_lock(&moves); }
  ~Moves() { pthread_mutex_unlock(&moves); }
};

}  // namespace

struct ForkHandlers {
  std::mutex lock;             // of the list
  ForkMutex* first = nullptr;

  static ForkHandlers& instance() {
    static ForkHandlers* h = [] {
      cpu_allocator();         // handlers that are registered earlier run later before a fork
      pthread_atfork(before, after_in_parent, after_in_child);
      return new ForkHandlers;
    }();
    return *h;
  }
  static void before() {
    forking.fetch_add(1);
    {
      const Moves hold;
      while (within.load() != (depth > 0)) pthread_cond_wait(&moved, &moves);
    }
    ForkHandlers& h = instance();
    h.lock.lock();
    for (ForkMutex* m = h.first; m; m = m->next_) m->mutex_.lock();
  }
  static void after_in_parent() {
    ForkHandlers& h = instance();
    for (ForkMutex* m = h.first; m; m = m->next_) m->mutex_.unlock();
    h.lock.unlock();
    const Moves hold;
    forking.fetch_sub(1);
    pthread_cond_broadcast(&moved);
  }
  static void after_in_child() {
    ForkHandlers& h = instance();
    for (ForkMutex* m = h.first; m; m = m->next_) new (&m->mutex_) std::shared_mutex;
    new (&h.lock) std::mutex;
    moves = PTHREAD_MUTEX_INITIALIZER;
    moved = PTHREAD_COND_INITIALIZER;
    within = depth > 0;
    forking = 0;
  }
};

void ForkMutex::enlist() {
  ForkHandlers& h = ForkHandlers::instance();
  const std::lock_guard<std::mutex> hold(h.lock);
  if (known_.load(std::memory_order_relaxed)) return;
  next_ = h.first;
  h.first = this;
  known_.store(true, std::memory_order_release);
}

static void leave() {
  within.fetch_sub(1);
  if (!forking.load()) return;
  const Moves hold;
  pthread_cond_broadcast(&moved);
}

NoFork::NoFork() {
  if (depth++) return;
  ForkHandlers::instance();
  for (;;) {
    within.fetch_add(1);
    if (!forking.load()) return;
    leave();
    const Moves hold;
    while (forking.load()) pthread_cond_wait(&moved, &moves);
  }
}
NoFork::~NoFork() {
  if (--depth == 0) leave();
}

}  // namespace fb
