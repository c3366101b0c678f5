"""torch._dynamo.explain: what of a function is compiled, and why not the rest."""
import dataclasses
import time
import traceback

from .eval_frame import Compiled
from .exc import place


@dataclasses.dataclass
class GraphCompileReason:
    """Why, and where, something is not part of a graph. where: (file, line, function)."""
    reason: str
    where: tuple = None
    graph_break: bool = True

    @property
    def user_stack(self):
        """The place as a list of one traceback.FrameSummary."""
        return [traceback.FrameSummary(*self.where)] if self.where else []

    def __str__(self):
        return self.reason + (f"\n    at {place(self.where)}" if self.where else "")


@dataclasses.dataclass
class ExplainOutput:
    """Graphs, the operators in each, and reasons why code runs as it is."""
    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list
    out_guards: list
    compile_times: str

    def __str__(self):
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}",
                 "Break Reasons:"]
        for i, r in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {i}:", f"    {r}"]
        lines.append("Ops per Graph:")
        for i, ops in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {i}:", *(f"    {op}" for op in ops)]
        lines.append("Out Guards:")
        lines += [f"  {g}" for g in self.out_guards]
        lines.append(f"Compile Times: {self.compile_times}")
        return "\n".join(lines)


def _all_parts(compiled):
    """A function, its parts, and what it calls between them."""
    yield compiled
    if compiled.parts is not None:
        for part in compiled.parts.segments.values():
            yield part.compiled
        for called in compiled.parts.called.values():
            yield from _all_parts(called)


def explain_call(f, args, kwargs):
    """The ExplainOutput of the call f(*args, **kwargs)."""
    graphs, ops, breaks = [], [], []

    def backend(gm, examples):
        graphs.append(gm)
        ops.append([n.target for n in gm.graph.nodes if n.op == "call_function"])
        return gm.forward
    compiled = Compiled(f, backend, explain=breaks)
    compiled.noticed = True
    start = time.perf_counter()
    compiled(*args, **kwargs)
    spent = time.perf_counter() - start
    guards = [line for c in _all_parts(compiled) for e in c.entries for line in e.checks]
    return ExplainOutput(graphs, len(graphs), len(breaks), [GraphCompileReason(e.reason, e.where) for e in breaks], sum(map(len, ops)), ops,
                         guards, f"{spent:.4f} s")
