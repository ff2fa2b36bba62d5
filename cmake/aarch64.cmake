# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0

# Builds for AArch64 on another machine and runs the programs in an emulator (Debian's g++-aarch64-linux-gnu and
# qemu-user-static). The packages that wafer is made with are looked for in CMAKE_FIND_ROOT_PATH: a folder with those
# of Debian's arm64, or nothing where they are installed beside the machine's own (libtbb-dev:arm64, ...).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
