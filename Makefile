# make demo   install what is missing, build, train the main example for one epoch
# make test   every test: C++, Python, the house rules        make build     build only
# make nightly  what does not fit in a test run               make sanitize  C++ tests, ASan + UBSan
# make fuzz     a million random tile programs, interpreter against machine code; FB_FUZZ_PROGRAMS=n for fewer
# make every-float  the greatest error of each function over all 2^32 floats; FUNCTIONS="exp log" for some
# make bench BENCH=path/to/script.py [ARGS=...]               make wheel     dist/*.whl
# make clean  remove what was built (.venv and runs stay)     make help      this list
SHELL := /bin/bash
PY := .venv/bin/python
SYSTEM_PYTHON ?= /usr/bin/python3
BUILD ?= build
JOBS ?= $(shell nproc)
# README.md says why each is here.
DEBIAN := g++ cmake ninja-build ccache mold python3-dev python3-venv libgtest-dev \
  llvm-19-dev libzstd-dev zlib1g-dev dataset-fashion-mnist
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help build demo test tests nightly fuzz every-float sanitize bench wheel packages configure clean
.DEFAULT_GOAL := build

demo: build
	$(PY) examples/fashion_mnist.py --epochs 1 --out runs/fashion_mnist

help:
	@sed '/^#/!Q; s/^# //' Makefile

# Debian packages: asked of dpkg on every run (10 ms); only what is missing is installed.
packages:
	@command -v dpkg-query >/dev/null || { echo "dpkg is missing: this is written for Debian"; exit 1; }; \
	missing=; for p in $(DEBIAN); do \
	  [ "$$(dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null)" = installed ] || missing="$$missing $$p"; \
	done; \
	[ -z "$$missing" ] && exit 0; \
	line="apt-get install -y --no-install-recommends$$missing"; \
	if [ "$$(id -u)" = 0 ]; then as=; elif command -v sudo >/dev/null && sudo -v; then as=sudo; else \
	  echo "Missing Debian packages. As root, run this line, then make again:"; echo "  $$line"; exit 1; fi; \
	$$as apt-get update && $$as env DEBIAN_FRONTEND=noninteractive $$line

.venv/ready: pyproject.toml tools/dependencies.py tools/link_checkout.py | packages
	[ -x $(PY) ] || $(SYSTEM_PYTHON) -m venv .venv
	$(PY) tools/dependencies.py build run demo test | $(PY) -m pip install -q -r /dev/stdin
	$(PY) tools/link_checkout.py
	touch $@

# An environment that was copied, or a checkout that was moved, still points at the old place.
configure: .venv/ready
	@grep -qsxF "$(CURDIR)" .venv/lib/python3*/site-packages/flambeau.pth || $(PY) tools/link_checkout.py
	@[ -f $(BUILD)/build.ninja ] || cmake -S . -B $(BUILD) -G Ninja

build: configure
	@cmake --build $(BUILD) -j $(JOBS)
	@[ torch/__init__.pyi -nt torch/lib/libtorch.so ] || $(PY) tools/write_stubs.py torch/__init__.pyi

test: build
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error
	$(PY) -m pytest

tests: test

nightly: test sanitize
	$(PY) -m pytest tests/nightly
	$(PY) -m pytest tests/sweep --full

fuzz: build
	$(PY) -m pytest tests/nightly/test_tile_programs.py

every-float: configure
	@cmake --build $(BUILD) --target math_sweep -j $(JOBS)
	$(BUILD)/math_sweep $(FUNCTIONS)

sanitize: packages
	@[ -f build-sanitize/build.ninja ] || cmake -S . -B build-sanitize -G Ninja -DFB_SANITIZE=ON
	@cmake --build build-sanitize -j $(JOBS)
	ctest --test-dir build-sanitize --output-on-failure --no-tests=error

bench: build
	@[ -n "$(BENCH)" ] || { echo "make bench BENCH=path/to/script.py [ARGS=...]"; exit 1; }
	$(PY) $(BENCH) $(ARGS)

wheel: .venv/ready
	$(PY) -m pip wheel -q . --no-deps -w dist

clean:
	rm -rf build build-sanitize build-wheel dist benchmarks/fma_rate torch/lib torch/_C*.so torch/__init__.pyi
