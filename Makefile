# What a person does with a checkout. `make` alone lists it.
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash

bin := .venv/bin

# `make setup PYTHON=python3.12` makes the virtual environment with that interpreter.
export PYTHON

.PHONY: help setup demo test check format bench fuzz screenshots lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing (system packages by apt, the rest in .venv); at once when nothing is
	@tools/setup.sh

demo: setup ## run a program in a real virtual machine and show every step
	@$(bin)/python tools/demo.py

check: setup ## run the static checks, cheapest first
	$(bin)/ruff format --check
	$(bin)/ruff check
	$(bin)/lint-imports --no-cache
	$(bin)/mypy

test: check ## run the static checks and every test, a test file at a time on each processor
	$(bin)/python -m tests.support.images
	$(bin)/pytest -n auto --maxprocesses 4 --dist loadfile

bench: setup ## measure Cloche beside the bare limit of this host
	@$(bin)/python -m benchmarks

fuzz: setup ## search longer for inputs that break a promise, with new random ones every time
	$(bin)/pytest -m 'not machine' --hypothesis-profile=fuzz --timeout=0 $(or $(FUZZ),tests)

screenshots: setup ## take pictures of the dashboard before real machines, into screenshots/
	@tools/screenshots/setup.sh
	@$(bin)/python -m tools.screenshots $(SCENES)

format: setup ## put the code in shape
	$(bin)/ruff format
	$(bin)/ruff check --fix

lock: setup ## renew requirements.lock after a change of pyproject.toml; LOCK=--upgrade takes newer releases
	@tools/lock.sh $(LOCK)

clean: ## remove what was made in this checkout (images and sandboxes live elsewhere: cloche prune)
	rm -rf .venv build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache benchmarks/results
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
