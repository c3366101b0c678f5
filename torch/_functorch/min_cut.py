"""The cheapest cut of a network: which edges separate two nodes with the least total capacity (Dinic's algorithm)."""

__all__ = ["MinCut"]

INFINITE = 1 << 60


class MinCut:
    """A network of numbered nodes; edges have whole capacities."""

    def __init__(self):
        self.heads, self.to, self.room = [], [], []

    def node(self):
        """A new node: its number."""
        self.heads.append([])
        return len(self.heads) - 1

    def edge(self, a, b, capacity=INFINITE):
        """An edge from `a` to `b`."""
        self.heads[a].append(len(self.to))
        self.to.append(b)
        self.room.append(capacity)
        self.heads[b].append(len(self.to))
        self.to.append(a)
        self.room.append(0)

    def _levels(self, source, sink):
        level = [-1] * len(self.heads)
        level[source] = 0
        queue = [source]
        for a in queue:
            for e in self.heads[a]:
                b = self.to[e]
                if self.room[e] and level[b] < 0:
                    level[b] = level[a] + 1
                    queue.append(b)
        return level if level[sink] >= 0 else None

    def _augment(self, source, sink, level, at):
        """Sends flow along one path of ascending levels; how much."""
        path, a = [], source
        while True:
            if a == sink:
                flow = min(self.room[e] for e in path)
                for e in path:
                    self.room[e] -= flow
                    self.room[e ^ 1] += flow
                return flow
            edges = self.heads[a]
            while at[a] < len(edges):
                e = edges[at[a]]
                if self.room[e] and level[self.to[e]] == level[a] + 1:
                    break
                at[a] += 1
            else:
                if not path:
                    return 0
                e = path.pop()
                a = self.to[e ^ 1]
                at[a] += 1
                continue
            path.append(e)
            a = self.to[e]

    def solve(self, source, sink, late=False):
        """(capacity of the cut, the set of nodes on the source's side)

        Of several cuts that cost the same, the one nearest to the source, or with `late` nearest to the sink.
        """
        total = 0
        while True:
            level = self._levels(source, sink)
            if level is None:
                break
            at = [0] * len(self.heads)
            while True:
                flow = self._augment(source, sink, level, at)
                if not flow:
                    break
                total += flow
                if total >= INFINITE:
                    raise ValueError("nothing separates the two nodes: a path without limits leads from one to the other")
        if late:
            behind, queue = {sink}, [sink]
            for b in queue:
                for e in self.heads[b]:
                    a = self.to[e]
                    if self.room[e ^ 1] and a not in behind:
                        behind.add(a)
                        queue.append(a)
            return total, set(range(len(self.heads))) - behind
        reached, queue = {source}, [source]
        for a in queue:
            for e in self.heads[a]:
                b = self.to[e]
                if self.room[e] and b not in reached:
                    reached.add(b)
                    queue.append(b)
        return total, reached
