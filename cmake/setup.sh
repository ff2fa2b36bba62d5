#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Installs what a fresh Debian lacks.   usage: cmake/setup.sh [build] [tests] [clang] [examples]   (default: build)
# Asks for root only where something is missing.
set -euo pipefail

wanted=()
for group in "${@:-build}"; do
  case $group in
    build) wanted+=(g++ cmake ninja-build ccache pkg-config libtbb-dev zlib1g-dev libhwy-dev
                    libboost-graph-dev nlohmann-json3-dev) ;;
    tests) wanted+=(catch2 libeigen3-dev libxtensor-dev dataset-fashion-mnist binutils) ;;
    clang) wanted+=(clang) ;;
    examples) wanted+=(dataset-fashion-mnist) ;;
    *) echo "setup.sh: no group named '$group'; there are build, tests, clang, examples" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is not a Debian; please install the like of: ${wanted[*]}" >&2
  exit 0
fi
# Packages that were removed but left settings behind are listed too, so the status counts.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
            sed -n 's/ installed$//p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: these packages are missing, and without root or sudo they cannot be installed: ${missing[*]}" >&2
    echo "setup.sh: as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup.sh: installing ${missing[*]}"
quietly=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" "${quietly[@]}" update &&
       "${as_root[@]}" "${quietly[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
