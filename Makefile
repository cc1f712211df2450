# Two commands are all a newcomer needs: `make demo` and `make test`. Both make the environment themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# A Spark session needs Java 17 or later; the embedded engine needs none.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export SPARK_LOCAL_IP := 127.0.0.1

.PHONY: help demo test lint bench bench-model tla tla-large interop docs format clean golden
help:            ## what there is to do
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; say make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing drawstring and its tools into $(VENV) (once, and after pyproject.toml changes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark,sim,demo,bench,dev]'
	@touch $@

demo: $(STAMP)     ## the main job on real flights: write, correct, delete, time travel, two writers in conflict
	@$(BIN)/drawstring demo

test: $(STAMP)     ## all tests but interop and long explorations; says what was skipped for want of Java
	@$(BIN)/python tools/run_tests.py

golden: $(STAMP)   ## all 885 golden queries of Java's tables, on the embedded engine and on Spark
	@PYTHONPATH=tests $(BIN)/python -m spark.golden

lint: $(STAMP)     ## formatting, lint, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP)   ## rewrite the sources as lint wants them
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(STAMP)    ## ratios against Spark's Parquet, deltalake, hudi-rs and Java Hudi, in one run
	@$(BIN)/python -m tests.bench

bench-model: $(STAMP)  ## distinct states a second of the model's explorer beside TLC, as a ratio of times
	@$(BIN)/python -m tests.bench --section model --out artifacts/bench-model.json

tla: $(STAMP)      ## TLC and the explorer on all models but the largest (RECORD=1 keeps run times), and long explorations
	@$(BIN)/python -m tests.unit.model.tlc_table $(if $(RECORD),--record)
	@$(BIN)/python -m pytest -q -m large tests/unit/model

tla-large: $(STAMP)  ## TLC and the explorer on the largest models of tla/manifest.toml
	@$(BIN)/python -m tests.unit.model.tlc_table --large $(if $(RECORD),--record)

interop: $(STAMP)  ## Java Hudi 1.0.2 and hudi-rs read and continue our tables; status 77: Java Hudi is not to be had
	@$(BIN)/python tests/interop/java/environment.py
	@$(BIN)/python -m pytest tests/interop -m interop
	@$(BIN)/python -m pytest tests/interop/test_hudi_rs.py

docs: $(STAMP)     ## regenerate the generated pages under docs/
	@$(BIN)/python tools/generate_docs.py

clean:           ## remove the environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis artifacts
