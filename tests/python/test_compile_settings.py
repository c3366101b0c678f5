"""Settings of torch._dynamo and torch._inductor, and what the compiler makes of them."""
import os
import subprocess
import sys

import pytest
import torch


@pytest.mark.parametrize("config", [torch._dynamo.config, torch._inductor.config])
def test_names_that_are_not_there(config):
    for name in ("nonsense", "_nonsense"):
        with pytest.raises(AttributeError, match=name):
            getattr(config, name)
        with pytest.raises(AttributeError, match=name):
            setattr(config, name, 1)
        with pytest.raises(AttributeError, match=name), config.patch({name: 1}):
            pass
    assert "nonsense" not in config.get_config_copy()


def test_patches():
    config = torch._inductor.config
    before = config.get_config_copy()
    with config.patch({"triton.cudagraphs": True, "max_autotune": True}):
        assert config.triton.cudagraphs and config.max_autotune
        with config.patch("max_autotune", False):
            assert not config.max_autotune
        assert config.max_autotune
    with pytest.raises(AttributeError, match="nowhere"), config.patch({"max_autotune": True, "triton.nowhere": 1}):
        pass   # neither is set

    @config.patch(coordinate_descent_tuning=True)
    def inside():
        return config.coordinate_descent_tuning
    assert inside() and not config.coordinate_descent_tuning
    with pytest.raises(ZeroDivisionError), config.patch(debug=True):
        1 / 0
    assert config.get_config_copy() == before
    with pytest.raises(AttributeError, match="cudagraphs"):
        config.triton = True
    with pytest.raises(AttributeError, match="nowhere"):
        config.triton.nowhere = 1


def test_what_has_one_value():
    for config, name, value in ((torch._inductor.config, "post_grad_custom_post_pass", lambda g: None), (torch._dynamo.config, "compiled_autograd", True)):
        with pytest.raises(NotImplementedError, match=name):
            setattr(config, name, value)
        setattr(config, name, getattr(config, name))
    with pytest.raises(NotImplementedError, match="pre_grad_custom_pass"):
        torch.compile(lambda x: x, options={"pre_grad_custom_pass": print})


def test_options_are_the_settings():
    assert {"max_autotune", "triton.cudagraphs", "trace.enabled"} <= set(torch._inductor.list_options())
    x = torch.ones(3)
    assert torch.equal(torch.compile(lambda x: x + 1, options={"triton.cudagraphs": True, "max-autotune": True})(x), x + 1)
    for options in ({"triton.nowhere": True}, {"max_fusion_size": "64"}):
        with pytest.raises(RuntimeError, match=next(iter(options))):
            torch.compile(lambda x: x, options=options)


PROGRAM = """
import torch
torch._inductor.config.{setting}
torch.compile(lambda x: x.sin() * 1.25 + 3)(torch.ones(100))
{after}
print(torch._C._compile_statistics()["kernels"], torch._C._compile_statistics()["loaded"])
"""


@pytest.mark.parametrize("setting", ["force_disable_caches = True", "fx_graph_cache = False"])
def test_code_is_kept_on_disk_or_not(tmp_path, setting):
    def run(setting, after=""):
        program = PROGRAM.format(setting=setting, after=after)
        env = {k: v for k, v in os.environ.items() if k != "TORCHINDUCTOR_FORCE_DISABLE_CACHES"}
        done = subprocess.run([sys.executable, "-c", program], env={**env, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True)
        return done.stdout.split()
    assert run(setting) == ["1", "0"] and not list(tmp_path.rglob("*.o"))
    assert run("debug = False") == ["1", "0"] and len(list(tmp_path.rglob("*.o"))) == 1
    assert run(setting) == ["1", "0"]          # not read either
    assert run("debug = False")[1] == "1"
    again = "torch._inductor.config.force_disable_caches = False; torch._inductor.config.fx_graph_cache = True\ntorch.compile(lambda x: x.cos() - 7)(torch.ones(9))"
    run(setting, again)
    assert len(list(tmp_path.rglob("*.o"))) == 2


def test_back_ends_that_count():
    from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend
    for counter in (CompileCounter(), CompileCounterWithBackend("eager"), CompileCounterWithBackend("inductor")):
        f = torch.compile(lambda x: (x + 1) * 2, backend=counter)
        assert f(torch.ones(2)).tolist() == [4, 4] == f(torch.ones(2)).tolist()
        assert (counter.frame_count, counter.op_count) == (1, 2)
        torch._dynamo.reset_code_caches()
        f(torch.ones(2))
        assert (counter.frame_count, counter.op_count) == (2, 4)
        assert len(getattr(counter, "graphs", [0, 0])) == 2
        counter.clear()
        assert counter.frame_count == 0 and not getattr(counter, "graphs", [])
