#include "dispatch/library_load.h"

#include <map>
#include <mutex>
#include <set>

#include "core/fork_mutex.h"

namespace fb {
namespace {

struct Waiting {
  LibraryKey key;
  LibraryKernel kernel;
  std::string schema;
};

constinit ForkMutex g_lock;

struct State {  // under the lock
  std::set<std::string> namespaces;
  std::multimap<std::string, Waiting> waiting;
  std::string errors;
};
State& state() {
  static auto* s = new State;
  return *s;
}

bool compatible(const ArgSpec& a, const ArgSpec& b) { return a.type == b.type && a.optional == b.optional; }

void check_kernel(const OpEntry& op, const std::string& schema) {
  if (schema.empty()) return;
  const Schema k = parse_schema(schema);
  const Schema& s = op.schema;
  FB_CHECK(k.args.size() == s.args.size(), "a kernel for ", s.print(), " takes ", uint64_t(k.args.size()), " arguments (", schema, "), the schema has ",
           uint64_t(s.args.size()));
  for (size_t i = 0; i < s.args.size(); ++i)
    FB_CHECK(compatible(k.args[i], s.args[i]), "a kernel for ", s.print(), ": argument ", uint64_t(i), " ('", s.args[i].name, "') has another type in C++: ", schema);
  FB_CHECK(k.returns.size() == s.returns.size() || k.returns.empty(), "a kernel for ", s.print(), " returns ", uint64_t(k.returns.size()), " values (", schema,
           "), the schema says ", uint64_t(s.returns.size()));
}

}  // namespace

void library_namespace(const std::string& ns) {
  std::lock_guard<ForkMutex> guard(g_lock);
  FB_CHECK(state().namespaces.insert(ns).second, "TORCH_LIBRARY(", ns, ", m): the namespace is defined already; TORCH_LIBRARY_FRAGMENT adds to it");
}

void library_impl_named(const std::string& full_name, LibraryKey key, LibraryKernel kernel, const std::string& schema) {
  if (const OpEntry* op = find_op(full_name)) {
    check_kernel(*op, schema);
    library_impl(*op, key, kernel);
    return;
  }
  std::lock_guard<ForkMutex> guard(g_lock);
  state().waiting.emplace(full_name, Waiting{key, kernel, schema});
}

void library_impl_waiting(const OpEntry& op) {
  std::vector<Waiting> found;
  {
    std::lock_guard<ForkMutex> guard(g_lock);
    auto [b, e] = state().waiting.equal_range(op.schema.full_name());
    for (auto i = b; i != e; ++i) found.push_back(i->second);
    state().waiting.erase(b, e);
  }
  for (const Waiting& w : found) {
    check_kernel(op, w.schema);
    library_impl(op, w.key, w.kernel);
  }
}

void library_note_error(const char* what) {
  std::lock_guard<ForkMutex> guard(g_lock);
  if (!state().errors.empty()) state().errors += "\n";
  state().errors += what;
}

std::string library_take_errors() {
  std::lock_guard<ForkMutex> guard(g_lock);
  return std::exchange(state().errors, {});
}

}  // namespace fb
