#!/bin/sh
# Makes .venv and installs a lock file into it: `sh requirements/install.sh base|dev`, from the project's folder.
# Does nothing when that lock file was the last one installed. Set PYTHON to choose the interpreter.
set -eu

which=$1
lock=requirements/$which.lock
python=.venv/bin/python

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        if new_enough "$PYTHON"; then echo "$PYTHON"; return; fi
        echo "PYTHON=$PYTHON is not a Python 3.11 or newer" >&2
        exit 1
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if new_enough "$candidate"; then echo "$candidate"; return; fi
    done
    found=$(python3 --version 2>/dev/null || echo "no Python at all")
    echo "memoryconsole needs Python 3.11 or newer; python3 here is: $found." >&2
    echo "Install one, or name it: make run PYTHON=/path/to/python3.11" >&2
    exit 1
}

# An environment whose interpreter is gone, or that was interrupted while it was made, is made again.
if ! new_enough "$python" || ! "$python" -m pip --version >/dev/null 2>&1; then
    chosen=$(find_python)
    echo "Making the virtual environment .venv with $("$chosen" --version)"
    rm -rf .venv
    if ! "$chosen" -m venv .venv; then
        rm -rf .venv
        echo "The virtual environment could not be made (on Debian and Ubuntu: apt-get install python3-venv)." >&2
        exit 1
    fi
fi

if cmp -s "$lock" ".venv/$which.lock"; then
    exit 0
fi
echo "Installing the locked dependencies ($lock); the first time takes a minute or two"
rm -f .venv/base.lock .venv/dev.lock
"$python" -m pip install -qq --disable-pip-version-check --no-input --no-deps --require-hashes -r "$lock"
cp "$lock" ".venv/$which.lock"
# dev.lock holds all of base.lock, with the same versions.
if [ "$which" = dev ]; then
    cp requirements/base.lock .venv/base.lock
fi
