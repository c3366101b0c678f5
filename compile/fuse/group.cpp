// Grouping: nodes in their order join the nest of one of their operands, or begin one of their own. Nests meet in a node
// that reads several. No nest may come to depend on itself through another step.
#include "compile/fuse/group.h"

#include <algorithm>
#include <map>

#include "compile/fuse/reductions.h"
#include "compile/fuse/scans.h"

namespace fb::compile {

Role Group::role_of(int node) const {
  return roles[size_t(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin())];
}
bool Group::has(int node) const { return std::binary_search(nodes.begin(), nodes.end(), node); }

namespace {

constexpr size_t kMostNodes = 48;                       // of one nest: its code stays short
constexpr int64_t kFewLines = 8;                        // fewer lines of a scan have no lanes for what stands around it

class Grouper {
 public:
  Grouper(const Graph& g, const Shapes& s) : g_(g), s_(s) { of_.assign(g.nodes.size(), -1); }

  Grouping run() {
    for (int n = 0; n < int(g_.nodes.size()); ++n)
      if (g_.nodes[size_t(n)].op) place(n);
    return ordered();
  }

 private:
  using Way = Shapes::Way;
  template <class F> void each_operand(int n, F&& f) const {
    for (const auto& a : g_.nodes[size_t(n)].args)
      for (const auto& r : a.refs)
        if (r.node >= 0) f(r);
  }
  bool lowered(int n) const {
    const Way w = s_.way[size_t(n)];
    return w == Way::pointwise || w == Way::convert || w == Way::read || w == Way::scan || w == Way::reduction;
  }

  // ---- dependence between groups ----
  // Whether `from` reads, in however many steps, what `to` makes.
  bool reaches(int from, int to) const {
    std::vector<char> seen(groups_.size());
    std::vector<int> open{from};
    while (!open.empty()) {
      const int a = open.back();
      open.pop_back();
      for (int b : reads_[size_t(a)]) {
        if (b == to) return true;
        if (!seen[size_t(b)]) {
          seen[size_t(b)] = 1;
          open.push_back(b);
        }
      }
    }
    return false;
  }
  // Whether something that `from` reads, other than `to` itself, depends on `to`.
  bool reaches_around(int from, int to) const {
    for (int b : reads_[size_t(from)])
      if (b != to && reaches(b, to)) return true;
    return false;
  }

  // ---- what fits into a nest ----
  // What the reductions of a nest run over, or its scans along.
  struct Reduced {
    uint64_t mask = 0;
    int64_t groups = 0;
    bool operator==(const Reduced&) const = default;
  };
  static Reduced reduced_of(const Group& g) { return {g.mask, g.groups}; }
  static void reduce(Group& g, Reduced by) {
    g.mask = by.mask;
    g.groups = by.groups;
  }
  bool same(Ints a, Ints b) const { return a == b; }
  Dims kept_sizes(const Group& g, bool keepdim) const {
    Dims r;
    const Dims domain = cut_sizes(g.domain, g.groups);
    for (int64_t d = 0; d < domain.size(); ++d) {
      if (!(g.mask >> d & 1)) r.push_back(domain[d]);
      else if (keepdim) r.push_back(1);
    }
    return r;
  }
  bool is_kept_shape(const Group& g, Ints sizes) const { return sizes == kept_sizes(g, true).span() || sizes == kept_sizes(g, false).span(); }
  // Whether a value of one element for each output, of these sizes, broadcasts over the domain as it should.
  bool aligned(const Group& g, Ints sizes) const {
    const Dims want = kept_sizes(g, true);
    const int64_t pad = want.size() - sizes.n;
    if (pad < 0) return false;
    for (int64_t d = 0; d < want.size(); ++d)
      if (want[d] != (d < pad ? 1 : sizes[d - pad])) return false;
    return true;
  }
  bool pointwise_role(int n, const Group& g, Role* role) const {
    const Ints sizes = s_.results[size_t(n)][0].sizes();
    bool ok = true;
    if (s_.way[size_t(n)] == Way::read) {   // what it reads must be whole before
      *role = Role::element;
      each_operand(n, [&](Graph::Ref r) { ok = ok && !g.has(r.node); });
      return ok && same(sizes, g.domain);
    }
    if (same(sizes, g.domain)) {
      *role = Role::element;
      each_operand(n, [&](Graph::Ref r) {
        if (!g.has(r.node)) return;
        const Ints t = s_.of(r).sizes();
        if (value_role(g, r) == Role::element) ok = ok && same(t, g.domain);
        else ok = ok && aligned(g, t);
      });
      return ok;
    }
    if (!g.reduces || !is_kept_shape(g, sizes)) return false;
    *role = Role::kept;
    each_operand(n, [&](Graph::Ref r) {
      if (g.has(r.node)) ok = ok && value_role(g, r) == Role::kept && s_.of(r).sizes() == sizes;
    });
    return ok;
  }
  bool reduction_role(int n, const Group& g, Role* role, Reduced* reduced) const {
    *role = Role::reduction;
    ReductionCall c;
    const NodeArguments args(g_.nodes[size_t(n)], [&](Graph::Ref r) -> const Tensor& { return s_.of(r); });
    prepare_reduction(*g_.nodes[size_t(n)].op, args.values.data(), s_.results[size_t(n)], c, nullptr);
    *reduced = {c.mask, c.groups};
    if (g.scans || !same(c.domain, g.domain) || (g.reduces && !(*reduced == reduced_of(g)))) return false;
    bool ok = true;
    each_operand(n, [&](Graph::Ref r) {
      if (!g.has(r.node)) return;
      ok = ok && value_role(g, r) == Role::element && same(s_.of(r).sizes(), g.domain);
    });
    return ok;
  }
  ScanCall scan_of(int n) const {
    ScanCall c;
    const NodeArguments args(g_.nodes[size_t(n)], [&](Graph::Ref r) -> const Tensor& { return s_.of(r); });
    prepare_scan(*g_.nodes[size_t(n)].op, args.values.data(), s_.results[size_t(n)], c, nullptr);
    return c;
  }
  static bool many_lines(const Dims& domain, uint64_t mask) {
    int64_t lines = 1;
    for (int64_t d = 0; d < domain.size(); ++d)
      if (!(mask >> d & 1)) lines *= domain[d];
    return lines >= kFewLines;
  }
  bool scan_role(int n, const Group& g, Role* role, Reduced* reduced) const {
    *role = Role::element;
    const uint64_t line = uint64_t(1) << scan_of(n).dim;
    bool ok = !g.reduces && same(s_.results[size_t(n)][0].sizes(), g.domain) && (g.scans ? g.mask == line : many_lines(g.domain, line));
    *reduced = {line, 0};
    each_operand(n, [&](Graph::Ref r) {
      if (g.has(r.node)) ok = ok && same(s_.of(r).sizes(), g.domain);
    });
    return ok;
  }
  Role value_role(const Group& g, Graph::Ref r) const {
    const Role role = g.role_of(r.node);
    if (role != Role::reduction) return role;
    return same(s_.of(r).sizes(), g.domain) ? Role::element : Role::kept;
  }
  // Whether node n may stand in nest a, as far as shapes go.
  bool fits(int n, const Group& g, Role* role, Reduced* reduced) const {
    if (g.kind != StepKind::nest || g.nodes.size() >= kMostNodes) return false;
    *reduced = reduced_of(g);
    if (s_.way[size_t(n)] == Way::scan) return scan_role(n, g, role, reduced);
    if (g.scans && !many_lines(g.domain, g.mask)) return false;
    return s_.way[size_t(n)] == Way::reduction ? reduction_role(n, g, role, reduced) : pointwise_role(n, g, role);
  }
  // Two nests over one domain become one, where no step between them is in the way.
  bool can_merge(int a, int b) const {
    const Group &x = groups_[size_t(a)], &y = groups_[size_t(b)];
    if (x.kind != StepKind::nest || y.kind != StepKind::nest || !(x.domain == y.domain)) return false;
    if ((x.reduces || x.scans) && (y.reduces || y.scans) && (!(reduced_of(x) == reduced_of(y)) || x.scans != y.scans)) return false;
    if ((x.scans && !many_lines(x.domain, x.mask)) || (y.scans && !many_lines(y.domain, y.mask))) return false;
    if (x.nodes.size() + y.nodes.size() > kMostNodes) return false;
    if (reaches_around(a, b) || reaches_around(b, a)) return false;
    // A value that one makes for each output must be seen as such by the other, too.
    bool ok = true;
    for (const auto& [from, to] : {std::pair{&x, &y}, std::pair{&y, &x}})
      for (size_t i = 0; i < to->nodes.size(); ++i)
        each_operand(to->nodes[i], [&](Graph::Ref r) {
          if (!from->has(r.node)) return;
          const Ints t = s_.of(r).sizes();
          ok = ok && s_.way[size_t(to->nodes[i])] != Way::read;
          if (value_role(*from, r) == Role::element) ok = ok && same(t, x.domain) && to->roles[i] != Role::kept;
          else ok = ok && (to->roles[i] == Role::kept ? t == s_.results[size_t(to->nodes[i])][0].sizes() : to->roles[i] == Role::element && aligned(*from, t));
        });
    return ok;
  }
  void merge(int into, int from) {
    Group &x = groups_[size_t(into)], &y = groups_[size_t(from)];
    std::vector<std::pair<int, Role>> all;
    for (size_t i = 0; i < x.nodes.size(); ++i) all.push_back({x.nodes[i], x.roles[i]});
    for (size_t i = 0; i < y.nodes.size(); ++i) all.push_back({y.nodes[i], y.roles[i]});
    std::sort(all.begin(), all.end());
    x.nodes.clear();
    x.roles.clear();
    for (const auto& [n, r] : all) {
      x.nodes.push_back(n);
      x.roles.push_back(r);
      of_[size_t(n)] = into;
    }
    if (y.reduces || y.scans) reduce(x, reduced_of(y));
    x.reduces |= y.reduces;
    x.scans |= y.scans;
    y.nodes.clear();
    y.roles.clear();
    auto& mine = reads_[size_t(into)];
    for (int b : reads_[size_t(from)])
      if (std::find(mine.begin(), mine.end(), b) == mine.end()) mine.push_back(b);
    reads_[size_t(from)].clear();
    for (auto& r : reads_)
      for (int& b : r)
        if (b == from) b = into;
    mine.erase(std::remove(mine.begin(), mine.end(), into), mine.end());
  }

  void join(int n, int g, Role role, Reduced reduced) {
    Group& group = groups_[size_t(g)];
    group.nodes.push_back(n);
    group.roles.push_back(role);
    if (role == Role::reduction) {
      group.reduces = true;
      reduce(group, reduced);
    } else if (s_.way[size_t(n)] == Way::scan) {
      group.scans = true;
      reduce(group, reduced);
    }
    of_[size_t(n)] = g;
    each_operand(n, [&](Graph::Ref r) {
      readers_[r.node].push_back(n);
      const int b = of_[size_t(r.node)];
      auto& mine = reads_[size_t(g)];
      if (b >= 0 && b != g && std::find(mine.begin(), mine.end(), b) == mine.end()) mine.push_back(b);
    });
  }
  int fresh(StepKind kind) {
    groups_.emplace_back();
    groups_.back().kind = kind;
    reads_.emplace_back();
    return int(groups_.size()) - 1;
  }

  // Nests that read what n reads, and nothing of which n depends: one pass over memory serves both.
  std::vector<int> beside(int n) const {
    std::vector<int> r;
    each_operand(n, [&](Graph::Ref at) {
      const auto found = readers_.find(at.node);
      if (found == readers_.end()) return;
      for (int reader : found->second)
        if (const int g = of_[size_t(reader)]; g >= 0 && groups_[size_t(g)].kind == StepKind::nest && std::find(r.begin(), r.end(), g) == r.end()) r.push_back(g);
    });
    std::sort(r.rbegin(), r.rend());
    if (r.size() > 4) r.resize(4);
    return r;
  }

  void place(int n) {
    if (!lowered(n)) {
      const int g = fresh(s_.way[size_t(n)] == Way::view ? StepKind::view : StepKind::call);
      join(n, g, Role::element, {});
      // Calls stay in their order: they may draw random numbers, or raise.
      if (groups_[size_t(g)].kind == StepKind::call) {
        auto& mine = reads_[size_t(g)];
        if (last_call_ >= 0 && std::find(mine.begin(), mine.end(), last_call_) == mine.end()) mine.push_back(last_call_);
        last_call_ = g;
      }
      return;
    }
    // The nests of its operands, the newest first.
    std::vector<int> near;
    each_operand(n, [&](Graph::Ref r) {
      const int b = of_[size_t(r.node)];
      if (b >= 0 && groups_[size_t(b)].kind == StepKind::nest && std::find(near.begin(), near.end(), b) == near.end()) near.push_back(b);
    });
    std::sort(near.rbegin(), near.rend());
    for (size_t i = 0; i + 1 < near.size();) {
      if (can_merge(near[0], near[i + 1])) {
        Role role;
        Reduced reduced;
        Group both = groups_[size_t(near[0])];  // would the node fit the two as one?
        const Group& other = groups_[size_t(near[i + 1])];
        for (size_t k = 0; k < other.nodes.size(); ++k) {
          const auto at = std::lower_bound(both.nodes.begin(), both.nodes.end(), other.nodes[k]) - both.nodes.begin();
          both.nodes.insert(both.nodes.begin() + at, other.nodes[k]);
          both.roles.insert(both.roles.begin() + at, other.roles[k]);
        }
        if (other.reduces || other.scans) reduce(both, reduced_of(other));
        both.reduces |= other.reduces;
        both.scans |= other.scans;
        if (fits(n, both, &role, &reduced)) {
          merge(near[0], near[i + 1]);
          near.erase(near.begin() + long(i) + 1);
          continue;
        }
      }
      ++i;
    }
    if (near.empty()) near = beside(n);
    for (int g : near) {
      Role role;
      Reduced reduced;
      if (!fits(n, groups_[size_t(g)], &role, &reduced)) continue;
      bool free = true;   // no operand from elsewhere that depends on this nest
      each_operand(n, [&](Graph::Ref r) {
        const int b = of_[size_t(r.node)];
        free = free && (b < 0 || b == g || !reaches(b, g));
      });
      if (free) return join(n, g, role, reduced);
    }
    const int g = fresh(StepKind::nest);
    Reduced reduced;
    Role role = Role::element;
    if (s_.way[size_t(n)] == Way::reduction) {
      ReductionCall c;
      const NodeArguments args(g_.nodes[size_t(n)], [&](Graph::Ref r) -> const Tensor& { return s_.of(r); });
      prepare_reduction(*g_.nodes[size_t(n)].op, args.values.data(), s_.results[size_t(n)], c, nullptr);
      groups_[size_t(g)].domain = c.domain;
      reduced = {c.mask, c.groups};
      role = Role::reduction;
    } else {
      groups_[size_t(g)].domain = Dims(s_.results[size_t(n)][0].sizes());
      if (s_.way[size_t(n)] == Way::scan) reduced.mask = uint64_t(1) << scan_of(n).dim;
    }
    join(n, g, role, reduced);
  }

  Grouping ordered() {
    Grouping r;
    r.group_of.assign(g_.nodes.size(), -1);
    std::vector<char> done(groups_.size());
    // The group that holds the lowest node first, among those whose sources are there.
    std::vector<int> order;
    for (int i = 0; i < int(groups_.size()); ++i)
      if (!groups_[size_t(i)].nodes.empty()) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return groups_[size_t(a)].nodes.back() < groups_[size_t(b)].nodes.back(); });
    while (!order.empty()) {
      size_t at = 0;
      for (; at < order.size(); ++at) {
        bool ready = true;
        for (int b : reads_[size_t(order[at])]) ready = ready && done[size_t(b)];
        if (ready) break;
      }
      const int g = order[at];
      order.erase(order.begin() + long(at));
      done[size_t(g)] = 1;
      for (int n : groups_[size_t(g)].nodes) r.group_of[size_t(n)] = int(r.groups.size());
      r.groups.push_back(std::move(groups_[size_t(g)]));
    }
    return r;
  }

  const Graph& g_;
  const Shapes& s_;
  std::vector<Group> groups_;
  std::vector<std::vector<int>> reads_;
  std::vector<int> of_;
  std::map<int, std::vector<int>> readers_;   // of a node, so far
  int last_call_ = -1;
};

}  // namespace

Grouping group(const Graph& g, const Shapes& s) { return Grouper(g, s).run(); }

}  // namespace fb::compile
