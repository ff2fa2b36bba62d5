# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
"""Initial weights that Python and C++ (formula.hpp) compute alike, bit for bit."""

import numpy as np


def hash32(index):
    """Integer hash "lowbias32" by Chris Wellons (public domain, github.com/skeeto/hash-prospector), on uint32."""
    x = np.asarray(index, dtype=np.uint32)
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def values(offset, count, bound):
    """Elements offset, offset + 1, ... of a fixed sequence in [-bound, bound). Exact in f32 for a power of two."""
    word = hash32(np.arange(offset, offset + count, dtype=np.uint32)) >> np.uint32(8)
    return ((word.astype(np.int64) - (1 << 23)) * (bound / (1 << 23))).astype(np.float32)
