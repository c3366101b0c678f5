#include "core/fork_mutex.h"

#include <pthread.h>

#include <mutex>
#include <new>

namespace fb {

struct ForkHandlers {
  std::mutex lock;             // of the list
  ForkMutex* first = nullptr;

  static ForkHandlers& instance() {
    static ForkHandlers* h = [] {
      pthread_atfork(before, after_in_parent, after_in_child);
      return new ForkHandlers;
    }();
    return *h;
  }
  void add(ForkMutex* m) {
    const std::lock_guard<std::mutex> hold(lock);
    m->next_ = first;
    first = m;
  }
  static void before() {
    ForkHandlers& h = instance();
    h.lock.lock();
    for (ForkMutex* m = h.first; m; m = m->next_) m->lock();
  }
  static void after_in_parent() {
    ForkHandlers& h = instance();
    for (ForkMutex* m = h.first; m; m = m->next_) m->unlock();
    h.lock.unlock();
  }
  static void after_in_child() {
    ForkHandlers& h = instance();
    for (ForkMutex* m = h.first; m; m = m->next_) new (&m->mutex_) std::shared_mutex;
    new (&h.lock) std::mutex;
  }
};

ForkMutex::ForkMutex() { ForkHandlers::instance().add(this); }

}  // namespace fb
