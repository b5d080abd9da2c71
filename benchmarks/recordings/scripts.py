"""Programs of Python and JavaScript, their tests and their package managers."""

from __future__ import annotations

from benchmarks.recordings.python_shop import python_shop
from benchmarks.recordings.recipe import (
    CLAUDE,
    CODEX,
    GEMINI,
    PLAIN,
    STREAMS,
    SWE,
    shell,
)
from benchmarks.recordings.web_shop import web_shop

PYTHON = (
    shell("pytest-verbose", "pytest", python_shop, "python -m pytest -v tests", CLAUDE),
    shell("pytest-quiet", "pytest", python_shop, "python -m pytest -q tests", CODEX),
    shell("pytest-short", "pytest", python_shop, "python -m pytest --tb=short tests", STREAMS),
    shell("pytest-long-locals", "pytest", python_shop, "python -m pytest -l -vv tests/test_prices.py", SWE),
    shell("pytest-import-error", "pytest", python_shop, "printf 'import redis_lock\n\ndef test_it(): pass\n' > tests/test_lock.py; python -m pytest tests -v; rc=$?; rm tests/test_lock.py; exit $rc", CLAUDE),
    shell("pytest-passes", "pytest", python_shop, "python -m pytest -v tests/test_orders.py -k 'costs or refused' --durations=30 --durations-min=0 -vv", GEMINI),
    shell("pytest-junit", "junit-xml", python_shop, "python -m pytest -q tests --junitxml=report.xml > /dev/null; cat report.xml", PLAIN),
    shell("unittest-verbose", "unittest", python_shop, "python -m unittest discover -v -s checks -t .", CLAUDE),
    shell("unittest-plain", "unittest", python_shop, "python -m unittest discover -s checks -t .", STREAMS),
    shell("traceback-chained", "traceback", python_shop, "python import_prices.py prices.jsonl", CLAUDE),
    shell("traceback-streams", "traceback", python_shop, "python import_prices.py prices.jsonl", STREAMS),
    shell("traceback-recursion", "traceback", python_shop, "python recurse.py", CODEX),
    shell("traceback-group", "traceback", python_shop, "python fetch.py", SWE),
    shell("traceback-syntax", "traceback", python_shop, "python -m compileall -f shop checks tests; python broken.py", GEMINI),
    shell("mypy", "type-check", python_shop, "mypy --strict --no-incremental shop tests checks", CLAUDE),
    shell("ruff", "lint", python_shop, "ruff check --no-cache --select ALL --output-format=full .", CODEX),
    shell("ruff-concise", "lint", python_shop, "ruff check --no-cache --select ALL --output-format=concise .", CLAUDE),
    shell("pip-missing", "pip", python_shop, "python -m venv .venv && .venv/bin/pip install 'jupyterlab==4.1.5' 'flask==3.0.2' 'requests==2.31.0' torchvizz-extra-tools==9.9", CLAUDE),
    shell("pip-conflict", "pip", python_shop, ".venv/bin/pip install -r requirements.txt", CODEX),
    shell("pip-install-verbose", "pip", python_shop, ".venv/bin/pip install 'fastapi==0.110.0' 'sqlalchemy==2.0.29' 'celery==5.3.6' 'django==4.2.11' 'sphinx==7.2.6'", STREAMS),
    shell("pip-list", "table", python_shop, ".venv/bin/pip list", CLAUDE),
    shell("pip-build-fails", "pip", python_shop, "mkdir -p native && printf 'from setuptools import setup, Extension\nsetup(name=\"native\", version=\"1\", ext_modules=[Extension(\"fast\", [\"fast.c\"])])\n' > native/setup.py && printf '#include <Python.h>\n#include <libfrob/frob.h>\nint x;\n' > native/fast.c && .venv/bin/pip install ./native", CLAUDE),
    shell("pip-inspect", "json-nested", python_shop, ".venv/bin/pip inspect --local", PLAIN),
    shell("python-help", "help", python_shop, "python -m pytest --help", CLAUDE),
    shell("coverage", "table", python_shop, "coverage run -m pytest -q tests >/dev/null; coverage report -m; coverage erase", CODEX),
    shell("cprofile", "profile", python_shop, "python -m cProfile -s cumtime -m pytest -q tests/test_orders.py -p no:cacheprovider", CLAUDE),
)
NODE = (
    shell("jest", "jest", web_shop, "npx jest --ci jest", CLAUDE),
    shell("jest-verbose", "jest", web_shop, "npx jest --ci --verbose --rootDir jest --coverage --coverageDirectory /tmp/coverage-jest", CODEX),
    shell("jest-json", "json-nested", web_shop, "npx jest --ci --json jest 2>/dev/null", PLAIN),
    shell("vitest", "vitest", web_shop, "npx vitest run --root vitest", CLAUDE),
    shell("vitest-verbose", "vitest", web_shop, "npx vitest run --root vitest --reporter=verbose", STREAMS),
    shell("mocha", "mocha", web_shop, "npx mocha mocha/*.spec.js", CLAUDE),
    shell("mocha-xunit", "junit-xml", web_shop, "npx mocha --reporter xunit mocha/*.spec.js", CODEX),
    shell("node-test", "node-test", web_shop, "node --test --test-reporter=spec node/", SWE),
    shell("node-test-tap", "node-test", web_shop, "node --test --test-reporter=tap node/cart.test.js", CLAUDE),
    shell("node-error", "js-stack", web_shop, "node server.js", CLAUDE),
    shell("node-module-missing", "js-stack", web_shop, "cd script && npm run build", CODEX),
    shell("tsc", "type-check", web_shop, "npx tsc -p . --pretty false", CLAUDE),
    shell("tsc-pretty", "type-check", web_shop, "npx tsc -p . --pretty", SWE),
    shell("eslint", "lint", web_shop, "npx eslint legacy src", CLAUDE),
    shell("eslint-json", "json-array", web_shop, "npx eslint -f json legacy src", PLAIN),
    shell("prettier-check", "lint", web_shop, "npx prettier --check .", CLAUDE),
    shell("webpack", "bundler", web_shop, "npx esbuild webpack/index.js --bundle --outfile=/dev/null --log-limit=0; npx esbuild legacy/*.js --bundle --platform=node --outdir=out --metafile=meta.json --analyze=verbose", CLAUDE),
    shell("npm-404", "npm", web_shop, "cd bad && npm install", CLAUDE),
    shell("npm-404-verbose", "npm", web_shop, "cd bad && npm install --loglevel=http", CODEX),
    shell("npm-eresolve", "npm", web_shop, "cd peer && npm install", CLAUDE),
    shell("npm-audit", "npm", web_shop, "cd audit && npm install --no-fund --loglevel=error >/dev/null; npm audit", STREAMS),
    shell("npm-audit-json", "json-nested", web_shop, "cd audit && npm audit --json", PLAIN),
    shell("npm-ls", "npm", web_shop, "cd audit && npm ls --all", CLAUDE),
    shell("npm-view", "json-nested", web_shop, "npm view express@4.18.2 --json", CLAUDE),
    shell("npm-deprecated", "npm", web_shop, "cd audit && rm -rf node_modules package-lock.json && npm install", GEMINI),
)
RECIPES = PYTHON + NODE
