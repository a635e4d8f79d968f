# Two commands matter: `make demo` and `make test`. Everything is installed into .venv, from constraints.txt.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.PHONY: demo chat studio clients test test-crash test-slow test-long test-sample test-replicas test-js test-inspect lint bench peers studies docs clean
.DEFAULT_GOAL := demo

# torch comes first: on its own it is the smallest build for this machine, later it would be the largest.
$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Installing Dramaturg and its embedded models' runtime (a few minutes the first time) …"
	$(PIP) torch
	$(PIP) --editable ".[local,multilingual,plot,documents,serve]"
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	@echo "Installing what tests, linters and the server need …"
	$(PIP) --editable ".[local,multilingual,plot,documents,rerank,evaluate,postgres,serve,mcp,telemetry,server,docs,dev]"
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/dramaturg models pull
	$(BIN)/dramaturg ask beethoven \
	  "What did you think of Haydn as a teacher?" \
	  "Do you like to be alone in the woods?" \
	  "What do you do when you are angry?"
	@echo
	@echo "Go on:"
	@echo "  $(BIN)/dramaturg serve --open                 the chat page: characters, talks, and why"
	@echo "  $(BIN)/dramaturg chat beethoven               the same in the terminal; /evidence shows all that a reply rests on"
	@echo "  $(BIN)/dramaturg setup                        connect a larger model: this one is small, and plays blandly"

chat: $(VENV)/.demo
	$(BIN)/dramaturg models pull
	$(BIN)/dramaturg chat beethoven

studio: $(VENV)/.dev
	$(BIN)/dramaturg models pull
	DRAMATURG_OPEN_SETTINGS=all LANGGRAPH_STRICT_MSGPACK=true LANGGRAPH_CLI_NO_ANALYTICS=1 LANGSMITH_TRACING=false \
	  $(BIN)/langgraph dev --host 127.0.0.1 --no-browser --no-reload --n-jobs-per-worker 10

# A worker a core (one more costs more to import and collect, fourteen seconds, than it gains), each with whole files in
# the order that tests/conftest.py gives them. Compiled tests are kept, whatever the environment says: it takes each
# worker ten seconds to rewrite all asserts.
WORKERS := $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())')
# What tests write lies in memory where three gigabytes of it are free: a sixth of the time goes into files otherwise.
MEMORY := $(shell $(PYTHON) -c 'import os, shutil; print("/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 3 << 30 else "")')
PYTEST := $(if $(MEMORY),TMPDIR=$(MEMORY) )PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

test: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow and not crash" --durations 10

# What the quick tests take a sample of: every kill point, many mutations, all examples of each property.
test-crash: $(VENV)/.dev
	$(PYTEST) -n auto --dist worksteal -m "(crash or hypothesis) and not slow" --hypothesis-profile ci --durations 10

# One worker asks the embedded model (tests/conftest.py), which has one thread in tests, and the others do the rest.
test-slow: $(VENV)/.dev
	$(BIN)/dramaturg models pull --all
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m slow --durations 10

# Both in one run: while one worker asks the embedded model, the others do the rest.
LONG := -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "crash or hypothesis or slow" --hypothesis-profile ci
test-long: $(VENV)/.dev
	$(BIN)/dramaturg models pull --all
	$(PYTEST) $(LONG) --durations 15

# The part of it that is in the gate; another SEED takes another part (tests/support/long_sample.py).
SEED ?= $(shell git rev-parse --short=8 HEAD)
test-sample: $(VENV)/.dev
	$(BIN)/dramaturg models pull --all
	$(PYTEST) $(LONG) --long-sample $(SEED) --durations 10

# Two servers of the graphs on one Postgres and one Redis, as deploy/compose.yaml has them; skipped without redis-server.
JS_CLIENT := $(abspath build/js/node_modules/@langchain/langgraph-sdk)
test-replicas: $(VENV)/.dev
	$(PYTHON) -m venv build/langhost
	build/langhost/bin/python -m pip install --quiet --constraint deploy/graphs.lock langhost ".[postgres]"
	build/langhost/bin/python -m pip install --quiet --no-deps --force-reinstall .
	DRAMATURG_LANGHOST_PYTHON=$(abspath build/langhost/bin/python) DRAMATURG_JS_CLIENT=$(wildcard $(JS_CLIENT)) \
		$(PYTEST) tests/house/test_replicas.py --durations 5

# The client in JavaScript and its hook, in the versions of agent-chat-ui, at a real server; needs node. `make
# test-replicas` takes the client along where it is there.
JS_HOOK := $(abspath build/js-hook)
test-js: $(VENV)/.dev
	npm install --no-audit --no-fund --prefix build/js @langchain/langgraph-sdk@2.0.0
	npm install --no-audit --no-fund --prefix $(JS_HOOK) @langchain/langgraph-sdk@1.8.10 @langchain/core@1.1.44 \
		react@19.2.5 react-test-renderer@19.2.5
	DRAMATURG_JS_CLIENT=$(JS_CLIENT) DRAMATURG_JS_HOOK=$(JS_HOOK) \
		$(PYTEST) tests/house/test_server.py tests/house/test_server_clients.py -k javascript

# The chat clients that people have, for tests/server/test_sillytavern.py and test_open_webui.py, which are skipped without
# them. Needs npm and Chromium (apt-get install nodejs npm chromium), and 0.6 GB for SillyTavern, 2.9 GB for Open WebUI.
CLIENTS := build/clients
clients: $(CLIENTS)/.sillytavern $(CLIENTS)/.open-webui $(CLIENTS)/.card-readers

# Inspect asks for other versions than constraints.txt has, so it is tried in an environment of its own.
test-inspect: $(VENV)/.demo
	$(PYTHON) -m venv build/inspect
	build/inspect/bin/python -m pip install --quiet torch==2.13.0
	build/inspect/bin/python -m pip install --quiet --editable ".[evaluate,inspect]" pytest pytest-asyncio pytest-randomly \
		pytest-socket pytest-timeout
	$(if $(MEMORY),TMPDIR=$(MEMORY) )build/inspect/bin/python -m pytest --noconftest tests/evaluation/inspect

# What drives Chromium, and what looks for barriers; tests/server/test_page.py needs no more.
$(CLIENTS)/.playwright:
	$(PYTHON) -m venv $(CLIENTS)/playwright
	$(CLIENTS)/playwright/bin/python -m pip install --quiet playwright==1.65.2
	npm install --no-audit --no-fund --ignore-scripts --prefix $(CLIENTS)/axe axe-core@4.14.1
	@touch $@

# As a dependency of another package, SillyTavern finds its own files no more: it is unpacked, and installed inside.
$(CLIENTS)/.sillytavern: $(CLIENTS)/.playwright
	mkdir -p $(CLIENTS)/sillytavern
	cd $(CLIENTS) && npm pack --silent sillytavern@1.19.0
	tar xf $(CLIENTS)/sillytavern-1.19.0.tgz -C $(CLIENTS)/sillytavern --strip-components 1
	cd $(CLIENTS)/sillytavern && npm install --omit=dev --no-audit --no-fund --ignore-scripts
	rm $(CLIENTS)/sillytavern-1.19.0.tgz
	@touch $@

# What other programs read cards with, for tests/stores/formats/test_other_readers.py.
$(CLIENTS)/.card-readers:
	mkdir -p $(CLIENTS)/card-readers
	cd $(CLIENTS)/card-readers && npm init --yes > /dev/null && npm install --no-audit --no-fund --ignore-scripts \
		@risuai/ccardlib@0.4.2 character-card-utils@2.0.3
	@touch $@

$(CLIENTS)/.open-webui: $(CLIENTS)/.sillytavern
	$(PYTHON) -m venv $(CLIENTS)/open-webui
	$(CLIENTS)/open-webui/bin/python -m pip install --quiet torch==2.13.0
	$(CLIENTS)/open-webui/bin/python -m pip install --quiet open-webui==0.12.4
	@touch $@

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/typecheck build/lib && $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target build/typecheck .
	cp -r studies build/typecheck/
	cd build/typecheck && $(abspath $(BIN))/mypy --config-file ../../pyproject.toml -p dramaturg -p studies
	$(BIN)/lint-imports
	$(BIN)/python docs/generate/prose.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/guided_selection.py
	$(BIN)/python benchmarks/indexing.py --write
	$(BIN)/python benchmarks/turns.py --rounds 3 --write
	$(BIN)/python benchmarks/growth.py --turns 1000 --write
	$(BIN)/python benchmarks/normalization.py
	$(BIN)/python benchmarks/changes.py --write
	$(BIN)/python benchmarks/ensemble.py
	$(BIN)/python benchmarks/emotional_recall.py
	$(BIN)/python benchmarks/cliques.py
	$(BIN)/python benchmarks/reports.py
	$(BIN)/dramaturg models pull
	$(BIN)/python benchmarks/embedded_turns.py

# Other systems on the same documents; downloads them (1.5 GB on disk) into build/peers, and writes docs/research/performance.md.
peers: $(VENV)/.dev
	$(BIN)/python benchmarks/peers.py

# The library is empty, so that the example roles are taken as they are shipped. What is indexed and answered stays in
# the cache: a run that was stopped goes on.
studies: $(VENV)/.dev
	$(BIN)/dramaturg models pull --all
	$(BIN)/python -m studies --library build/no_library --out docs/research/studies.md

# What is written from the code, which tests compare; then the site, into build/site. A dead link is an error.
docs: $(VENV)/.dev
	$(BIN)/python docs/generate/nodes_page.py
	$(BIN)/python docs/generate/rules_page.py
	$(BIN)/python docs/generate/reference_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "The site is in build/site: open build/site/index.html, or for its search run $(BIN)/python -m http.server --directory build/site."

clean:
	rm -rf $(VENV) build dist *.egg-info .langgraph_api
