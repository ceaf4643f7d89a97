# make         build the book and the exercise notebooks
# make check NAME  check one exercise, chapter or file, in seconds
# make test    check what those who use it rely on, each behaviour once
# make test-all  check everything: attacks, broken machines, what else can be built
# make lint    check form and style alone
# make pdf     the book as one file for paper
# make lab     open the exercise notebooks in JupyterLab
# make demo    grade a made-up class of thirty
# make bench   measure the grader against stock nbgrader
# make attacks try on both what submissions may try
# make pages   measure what readers wait for on a slow line
# make clean   remove what was built (the environment and the notebooks stay)

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# Keep compiled bytecode whatever the environment says: Python is started hundreds of
# times, and each pytest process would otherwise compile every test.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile

# The files that pages and notebooks are made of. Folders are left out, because Python
# changes their times when it compiles what is in them. Instead, a list of these files is
# kept, and written again only when a file was added or removed.
SOURCES := $(sort $(shell find \
	$(wildcard _config.yml _toc.yml index.md autograder chapters solutions toolkit tools \
		tests/alternatives) \
	-name '__pycache__' -prune -o -name '.*' -prune -o ! -type d -print))
LISTED := $(shell cat _build/.sources 2>/dev/null)

.DEFAULT_GOAL := all
.PHONY: all always book pdf notebooks check test test-all test-code lint lab demo bench \
	attacks pages clean python-packages system-packages

# Side by side: notebooks are written with the processor that Sphinx leaves idle once the
# chapters are executed.
all: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs=2 book notebooks
	@echo "The book:       $(CURDIR)/_build/html/index.html"
	@echo "The notebooks:  $(CURDIR)/_build/notebooks/  (make lab opens them)"

# Each stamp records when the work began, so that files changed during the build count
# as new.
book: _build/html/.built

# Sphinx would not read a page with a warning again, nor write the pages again for a new
# style sheet. So a failed build, and a new style, forget what was read; what was
# executed stays in the cache. With BOOK_PAGE=masking, of all pages that were built
# before, that one alone is executed and read again, and the book is not up to date.
_build/html/.built: $(INSTALLED) $(SOURCES) _build/.sources $(if $(BOOK_PAGE),,_build/.style)
	@touch _build/.book-began
	@$(BIN)/jupyter-book build . --warningiserror --keep-going --nitpick --quiet \
		|| { rm -rf _build/.doctrees$(BOOK_PAGE:%=/chapters/%.doctree); exit 1; }
	@$(if $(BOOK_PAGE),,mv _build/.book-began $@)

_build/.style: $(wildcard chapters/_static/* chapters/_static/*/*)
	@rm -rf _build/.doctrees && mkdir -p _build && touch $@

notebooks: _build/.notebooks

# A notebook that was moved away is written again.
TOPICS := $(filter-out __init__,$(patsubst %.py,%,$(notdir $(wildcard autograder/exercises/*.py))))
MISSING := $(filter-out $(wildcard _build/notebooks/*.ipynb),$(TOPICS:%=_build/notebooks/%.ipynb))

_build/.notebooks: $(INSTALLED) $(SOURCES) _build/.sources $(if $(MISSING),always)
	@mkdir -p _build && touch _build/.notebooks-began
	@nice -n 19 $(BIN)/python -m autograder notebooks _build/notebooks
	@mv _build/.notebooks-began $@

ifneq ($(SOURCES),$(LISTED))
_build/.sources: always
endif
_build/.sources:
	@mkdir -p _build && printf '%s\n' $(SOURCES) > $@

always:

# The quick checks run first. Tests of one file stay in one process because they share
# expensive fixtures; see tests/conftest.py. What is left out, tests/suites.py says.
test: lint
	@$(MAKE) --no-print-directory book
	$(PYTEST)

# SHARD=1/3 is the first third of the files.
test-all: lint
	@$(MAKE) --no-print-directory book
	$(PYTEST) --all $(SHARD:%=--shard %)

# Everything that needs no built book.
test-code: $(INSTALLED)
	$(PYTEST) --ignore=tests/book --ignore=tests/lab

# `make check masking`: what follows `check` is a name, and not another goal.
ifeq ($(firstword $(MAKECMDGOALS)),check)
NAMES := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(NAMES)
$(NAMES): ; @:
endif

check: $(INSTALLED)
	@$(BIN)/python -m tools.check $(NAMES)

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@! git grep --line-number --extended-regexp '^(<{7}|>{7})( |$$)' \
		|| { echo "A merge was left half done in these lines."; exit 1; }

pdf: book
	@$(BIN)/python -m tools.book_pdf _build/html _build/attention_from_scratch.pdf

lab: notebooks
	PATH="$(CURDIR)/$(BIN):$$PATH" jupyter lab _build/notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

demo: $(INSTALLED)
	$(BIN)/python -m classroom.demo _build/demo

# Against stock nbgrader, and how the time grows with the class: half an hour.
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.grading --sizes 10 100 1000 | tee benchmarks/measured.txt
	@echo | tee -a benchmarks/measured.txt
	$(BIN)/python -m benchmarks.processor | tee -a benchmarks/measured.txt
	$(BIN)/python -m benchmarks.wrong_class

# What attacks gain and what they damage, with either grader; takes ten minutes.
attacks: $(INSTALLED)
	$(BIN)/python -m benchmarks.forgeries | tee benchmarks/attacked.txt
	@echo | tee -a benchmarks/attacked.txt
	$(BIN)/python -m benchmarks.escapes | tee -a benchmarks/attacked.txt

# What pages weigh, and how long readers on a phone with a slow line wait for them; half an
# hour, on a machine that does nothing else.
pages: book
	$(BIN)/python -m benchmarks.pages | tee benchmarks/pages.txt

# The notebooks stay: somebody may have worked in them.
clean:
	rm -rf .pytest_cache .ruff_cache .hypothesis
	@test ! -d _build || find _build -mindepth 1 -maxdepth 1 ! -name notebooks -exec rm -rf {} +

# PYTHON is only asked once, when the environment is made.
$(INSTALLED): requirements.txt constraints.txt pyproject.toml tools/install_packages
	@$(MAKE) --no-print-directory --jobs=2 python-packages system-packages
	@touch $@

python-packages:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; try: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@tools/install_packages

system-packages:
	@tools/install_system_packages
