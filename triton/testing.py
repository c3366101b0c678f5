"""Timing of kernels, and reports over sizes."""
import functools
import os
import time

from .absent import lookup


def nvsmi(attrs):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError("nvsmi: kernels here run on the CPU")


def _summary(times, quantiles, return_mode):
    import torch
    times = torch.tensor(times, dtype=torch.float64)
    if quantiles is not None:
        q = torch.quantile(times, torch.tensor(list(quantiles), dtype=torch.float64)).tolist()
        return q[0] if len(q) == 1 else q
    if return_mode == "all":
        return times.tolist()
    if return_mode not in ("min", "max", "mean", "median"):
        raise ValueError(f"return_mode is min, max, mean, median or all, not {return_mode!r}")
    return getattr(torch, return_mode)(times).item()


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds that fn() takes: run for about `warmup` ms, then for about `rep` ms. The caches are emptied before each run."""
    from .runtime.driver import driver
    fn()
    cache = driver.active.get_empty_cache_for_benchmark()
    start = time.perf_counter()
    for _ in range(3):
        fn()
    estimate = max((time.perf_counter() - start) * 1000 / 3, 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    times = []
    for _ in range(max(1, int(rep / estimate))):
        for x in grad_to_none or ():
            x.grad = None
        driver.active.clear_cache(cache)
        start = time.perf_counter()
        fn()
        times.append((time.perf_counter() - start) * 1000)
        if sum(times) > 4 * rep and len(times) >= 5:
            break
    return _summary(times, quantiles, return_mode)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """do_bench; there are no CUDA graphs on the CPU."""
    return do_bench(fn, warmup=5, rep=rep, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raises AssertionError where x and y, tensors or what makes arrays, differ by more than the tolerances (1e-2 and 0 by default)."""
    import numpy as np
    import torch
    x, y = (t.detach().to(torch.float32).cpu().numpy() if isinstance(t, torch.Tensor) and t.dtype in (torch.bfloat16, torch.float16) else
            t.detach().cpu().numpy() if isinstance(t, torch.Tensor) else np.asarray(t) for t in (x, y))
    np.testing.assert_allclose(x, y, atol=1e-2 if atol is None else atol, rtol=0.0 if rtol is None else rtol, equal_nan=True, err_msg=err_msg)


class Benchmark:
    """What perf_report varies and draws: x_names over x_vals, one line for each of line_vals."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="", x_log=False, y_log=False, styles=None):
        self.x_names, self.x_vals, self.x_log, self.y_log = x_names, x_vals, x_log, y_log
        self.line_arg, self.line_vals, self.line_names, self.styles = line_arg, line_vals, line_names, styles
        self.xlabel, self.ylabel, self.plot_name, self.args = xlabel, ylabel, plot_name, args


class Mark:
    """A function with its benchmarks; run() calls it for all sizes."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _rows(self, bench, kwargs):
        names = list(bench.x_names)
        for x in bench.x_vals:
            xs = list(x) if isinstance(x, (list, tuple)) else [x] * len(names)
            if len(xs) != len(names):
                raise ValueError(f"{len(names)} names for a point of {len(xs)} numbers")
            row = []
            for v in bench.line_vals:
                r = self.fn(**dict(zip(names, xs)), **{bench.line_arg: v}, **bench.args, **kwargs)
                row.append(r if isinstance(r, (list, tuple)) else (r, None, None))
            yield xs, row

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, save_precision=6, **kwargs):
        """Runs all benchmarks; prints tables, writes .csv and .png files to save_path, returns a list of rows (or data frames) where asked to."""
        results = []
        for bench in [self.benchmarks] if isinstance(self.benchmarks, Benchmark) else self.benchmarks:
            rows = list(self._rows(bench, kwargs))
            header = list(bench.x_names) + list(bench.line_names)
            table = [list(xs) + [r[0] for r in row] for xs, row in rows]
            if print_data:
                print(bench.plot_name + ":")
                print("  ".join(f"{h:>14}" for h in header))
                for line in table:
                    print("  ".join(f"{v:>14.{save_precision}f}" if isinstance(v, float) else f"{v!s:>14}" for v in line))
            if save_path:
                os.makedirs(save_path, exist_ok=True)
                with open(os.path.join(save_path, f"{bench.plot_name}.csv"), "w") as f:
                    f.write(",".join(header) + "\n")
                    for line in table:
                        f.write(",".join(f"{v:.{save_precision}f}" if isinstance(v, float) else str(v) for v in line) + "\n")
            if (show_plots or save_path) and bench.plot_name:
                self._plot(bench, rows, show_plots, save_path)
            if return_df:
                import pandas
                results.append(pandas.DataFrame(table, columns=header))
        if return_df:
            return results[0] if isinstance(self.benchmarks, Benchmark) else results
        return None

    def _plot(self, bench, rows, show, save_path):
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            if show:
                raise
            return
        figure, axes = plt.subplots()
        for i, name in enumerate(bench.line_names):
            style = bench.styles[i] if bench.styles else (None, None)
            xs, ys = [xs[0] for xs, _ in rows], [row[i][0] for _, row in rows]
            axes.plot(xs, ys, label=name, color=style[0], ls=style[1] if style[1] else "-")
            low, high = [row[i][1] for _, row in rows], [row[i][2] for _, row in rows]
            if all(v is not None for v in low + high):
                axes.fill_between(xs, low, high, alpha=0.15, color=style[0])
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if save_path:
            figure.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
        if show:
            plt.show()
        plt.close(figure)


def perf_report(benchmarks):
    """Decorates a function that gives a time (or time, low, high) with what it is to be run over."""
    return functools.partial(Mark, benchmarks=benchmarks)


__getattr__ = lookup("triton.testing", dict.fromkeys(("cublas", "cuda_graph_without_gc", "cuda_memcheck", "do_bench_cudagraph_proton", "do_bench_proton", "get_dram_gbps",
                "get_max_simd_tflops", "get_max_tensorcore_tflops", "set_gpu_clock"), "it asks a GPU"))
