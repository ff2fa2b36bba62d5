# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes mlp_sgd.txt and mlp_adamw.txt: what PyTorch makes of 100 steps of a GELU MLP on Fashion-MNIST.

    /usr/bin/python3 tests/oracle/mlp.py            # needs python3-torch and dataset-fashion-mnist

784-512-512-10, tanh form of GELU; weights [out, in] and biases numbered through in the order below and taken
from formula.py; batch t of 128 rows is rows 128 (t - 1) to 128 t - 1 of the training set, byte / 255 in f32;
mean softmax cross-entropy. One thread, f32. `--f64` prints how far f32 is from the same steps in f64.
"""

import gzip
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import formula

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
HERE = pathlib.Path(__file__).parent
STEPS, BATCH, STRIDE = 100, 128, 97
SHAPES = {
    "fc1.weight": (512, 784), "fc1.bias": (512,),
    "fc2.weight": (512, 512), "fc2.bias": (512,),
    "head.weight": (10, 512), "head.bias": (10,),
}
# Powers of two, so that all initial values are exact; of the scales tried, the one where rounding shows least in
# the losses (f32 is within 5e-7 of f64 for SGD, 2e-6 for AdamW) while clipping still fires in most steps.
BOUNDS = {"fc1": 2.0**-5, "fc2": 2.0**-5, "head": 2.0**-4}


def load():
    def read(name, header):
        return np.frombuffer(gzip.decompress((DATA / name).read_bytes()), np.uint8, offset=header)

    rows = STEPS * BATCH
    images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:rows]
    labels = read("train-labels-idx1-ubyte.gz", 8)[:rows]
    return images.astype(np.float32) / np.float32(255), labels.astype(np.int64)


def initial(dtype):
    parameters, offset = {}, 0
    for name, shape in SHAPES.items():
        count = math.prod(shape)
        flat = formula.values(offset, count, BOUNDS[name.split(".")[0]])
        parameters[name] = torch.tensor(flat.reshape(shape), dtype=dtype, requires_grad=True)
        offset += count
    return parameters


def loss_of(p, image, label):
    x = F.gelu(F.linear(image, p["fc1.weight"], p["fc1.bias"]), approximate="tanh")
    x = F.gelu(F.linear(x, p["fc2.weight"], p["fc2.bias"]), approximate="tanh")
    return F.cross_entropy(F.linear(x, p["head.weight"], p["head.bias"]), label)


def rate(step, peak=1e-3, warmup=10):
    """Step 1 is the first: linear to `peak` at `warmup`, then half a cosine to 0 at the last step."""
    if step <= warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup)))


def train(optimizer, images, labels, dtype):
    """Returns losses, norms of the gradients before clipping (AdamW alone) and the final parameters."""
    parameters = initial(dtype)
    if optimizer == "sgd":
        updater = torch.optim.SGD(parameters.values(), lr=0.05, momentum=0.9)
    else:
        updater = torch.optim.AdamW(parameters.values(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    losses, norms = [], []
    for step in range(1, STEPS + 1):
        rows = slice((step - 1) * BATCH, step * BATCH)
        loss = loss_of(parameters, torch.tensor(images[rows], dtype=dtype), torch.tensor(labels[rows]))
        updater.zero_grad()
        loss.backward()
        if optimizer == "adamw":
            updater.param_groups[0]["lr"] = rate(step)
            norms.append(float(torch.nn.utils.clip_grad_norm_(parameters.values(), max_norm=1.0)))
        updater.step()
        losses.append(float(loss))
    return losses, norms, {name: p.detach().numpy() for name, p in parameters.items()}


def write(optimizer, losses, norms, parameters):
    lines = ["# SPDX-FileCopyrightText: The wafer authors", "# SPDX-License-Identifier: Apache-2.0"]
    lines += [f"# PyTorch {torch.__version__}, written by mlp.py; read by figures.hpp"]
    lines += [f"loss {step} {value:.9g}" for step, value in enumerate(losses, 1)]
    lines += [f"norm {step} {value:.9g}" for step, value in enumerate(norms, 1)]
    for name, value in parameters.items():
        flat = value.astype(np.float64).ravel()
        lines.append(f"sum {name} {math.fsum(flat):.17g}")
        lines.append(f"abs {name} {math.fsum(abs(flat)):.17g}")
        samples = [f"{x:.7g}" for x in value.ravel()[::STRIDE]]
        lines.append(f"samples {name} {STRIDE} {len(samples)}")
        lines += [" ".join(samples[i:i + 8]) for i in range(0, len(samples), 8)]
    (HERE / f"mlp_{optimizer}.txt").write_text("\n".join(lines) + "\n")


def compare(a, b):
    """Prints the largest differences of two runs by the measures that the tests use."""
    print("  loss, relative: %.2g" % max(abs(x - y) / abs(y) for x, y in zip(a[0], b[0])))
    for name in SHAPES:
        x, y = a[2][name].astype(np.float64).ravel(), b[2][name].astype(np.float64).ravel()
        print("  %-12s sampled %.2g, all %.2g, sum over magnitudes %.2g" % (
            name, abs(x - y)[::STRIDE].max(), abs(x - y).max(), abs(x.sum() - y.sum()) / abs(y).sum()))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images, labels = load()
    for optimizer in ("sgd", "adamw"):
        result = train(optimizer, images, labels, torch.float32)
        print(f"{optimizer}: loss {result[0][0]:.6f} to {result[0][-1]:.6f}; clipped in "
              f"{sum(n > 1 for n in result[1])} of {len(result[1])} steps")
        if "--f64" in sys.argv:
            compare(result, train(optimizer, images, labels, torch.float64))
        else:
            write(optimizer, *result)


if __name__ == "__main__":
    main()
