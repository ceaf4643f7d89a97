#!/usr/bin/env bash
# Gradescope calls this once, as root, when it builds the image of an assignment.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
cd "$root/source"

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

found=
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    if recent "$python" && "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        found=$python
        break
    fi
done
if [ -z "$found" ]; then
    apt-get update
    if recent python3; then
        apt-get install -y --no-install-recommends python3-venv
        found=python3
    else
        apt-get install -y --no-install-recommends python3.11 python3.11-venv
        found=python3.11
    fi
fi
"$found" -m venv "$root/venv"
mapfile -t options < pip_options.txt
for wheel in ./*.whl; do
    "$root/venv/bin/pip" install --no-cache-dir -c constraints.txt \
        ${options[@]+"${options[@]}"} "$wheel$(cat extras.txt)"
done
