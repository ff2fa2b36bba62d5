# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
"""Writes ops_figures.hpp: PyTorch's values and gradients, in f64, for small cases of ops and updates.

    /usr/bin/python3 tests/oracle/ops.py            # needs python3-torch

All inputs are exact in f32.
"""

import math
import pathlib

import torch
import torch.nn.functional as F

import formula

OUT = []


def numbers(tensor):
    return ", ".join(f"{x:.17g}" for x in torch.as_tensor(tensor).reshape(-1).tolist())


def array(name, tensor, comment=None, of="double"):
    if comment:
        OUT.append(f"/// {comment}")
    OUT.append(f"inline constexpr {of} {name}[] = {{{numbers(tensor)}}};")


def unary(name, function, points):
    x = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    y = function(x)
    y.sum().backward()
    OUT.append(f"inline constexpr Point k{name}[] = {{")
    OUT.extend(f"    {{{a:.17g}, {b:.17g}, {c:.17g}}}," for a, b, c in zip(points, y.tolist(), x.grad.tolist()))
    OUT.append("};")


def unaries():
    OUT.append("/// Argument, value and derivative.")
    OUT.append("struct Point {\n  double x, y, dy;\n};")
    anywhere = [-20.0, -8.0, -4.5, -3.0, -2.0, -1.0, -0.75, -0.5, -0.125, -(2.0**-10), 0.0,
                2.0**-10, 0.125, 0.5, 0.75, 1.0, 2.0, 3.0, 4.5, 8.0, 20.0]
    positive = [2.0**-10, 0.125, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 10.0, 1000.0]
    unary("Gelu", lambda x: F.gelu(x, approximate="tanh"), anywhere)
    unary("Sigmoid", torch.sigmoid, anywhere)
    unary("Tanh", torch.tanh, anywhere)
    unary("Exp", torch.exp, anywhere)
    unary("Cos", torch.cos, anywhere)
    unary("Log", torch.log, positive)
    unary("Sqrt", torch.sqrt, positive)


def cross_entropy():
    logits = torch.tensor([[0.5, -1.25, 2.0, 0.0, 0.75], [-3.0, 4.0, 0.25, 1.0, -0.5], [1.5, 1.5, 1.5, 1.5, 1.5]],
                          dtype=torch.float64, requires_grad=True)
    label = torch.tensor([2, 0, 4])
    array("kCeLogits", logits.detach(), "Softmax cross-entropy of 3 rows of 5 classes, mean over the rows.")
    array("kCeLabels", label, of="int")
    array("kCeRowLoss", F.cross_entropy(logits, label, reduction="none").detach())
    loss = F.cross_entropy(logits, label)
    loss.backward()
    OUT.append(f"inline constexpr double kCeLoss = {float(loss):.17g};")
    array("kCeGradient", logits.grad)
    array("kCeSoftmax", F.softmax(logits.detach(), dim=1))


def mlp():
    """4-6-5 on 3 rows, every tensor from formula.py: x, w1, b1, w2, b2 numbered through, bound 1."""
    shapes = {"X": (3, 4), "W1": (6, 4), "B1": (6,), "W2": (5, 6), "B2": (5,)}
    tensors, offset = {}, 0
    for name, shape in shapes.items():
        count = math.prod(shape)
        tensors[name] = torch.tensor(formula.values(offset, count, 1.0).reshape(shape), dtype=torch.float64,
                                     requires_grad=True)
        offset += count
    hidden = F.gelu(F.linear(tensors["X"], tensors["W1"], tensors["B1"]), approximate="tanh")
    logits = F.linear(hidden, tensors["W2"], tensors["B2"])
    loss = F.cross_entropy(logits, torch.tensor([3, 0, 1]))
    loss.backward()
    OUT.append("/// x[3,4] | Linear 6 | gelu | Linear 5 | mean cross-entropy with labels 3, 0, 1. x, w1[6,4], b1, w2[5,6],\n"
               "/// b2 are the elements of formula.hpp with bound 1, numbered through in this order.")
    array("kMlpLogits", logits.detach())
    OUT.append(f"inline constexpr double kMlpLoss = {float(loss):.17g};")
    for name, tensor in tensors.items():
        array(f"kMlpGradient{name}", tensor.grad)


GRADIENTS = [[0.5, -0.25, 0.0, 2.0**-20], [0.125, 1.0, -0.5, -(2.0**-20)], [-2.0, 0.25, 0.0, 2.0**-21]]


def updates():
    start = [1.0, -2.0, 0.5, 0.25]
    OUT.append("/// Four values under the gradients of three steps; rows are the values after each step.")
    array("kUpdateStart", start)
    array("kUpdateGradients", GRADIENTS)

    def run(name, make, comment):
        p = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        optimizer = make([p])
        rows = []
        for gradient in GRADIENTS:
            p.grad = torch.tensor(gradient, dtype=torch.float64)
            optimizer.step()
            rows.append(p.detach().clone())
        array(name, torch.stack(rows), comment)

    run("kSgd", lambda p: torch.optim.SGD(p, lr=0.125), "lr 0.125")
    run("kMomentum", lambda p: torch.optim.SGD(p, lr=0.125, momentum=0.9), "lr 0.125, momentum 0.9")
    run("kAdam", lambda p: torch.optim.AdamW(p, lr=0.125, weight_decay=0.0),
        "lr 0.125, betas 0.9 and 0.999, eps 1e-8, no decay")
    run("kAdamW", lambda p: torch.optim.AdamW(p, lr=0.125, weight_decay=0.25),
        "lr 0.125, betas 0.9 and 0.999, eps 1e-8, decay 0.25")


def clipping():
    p = [torch.zeros(2, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    p[0].grad = torch.tensor([3.0, 0.0], dtype=torch.float64)
    p[1].grad = torch.tensor([-4.0, 12.0], dtype=torch.float64)
    norm = torch.nn.utils.clip_grad_norm_(p, max_norm=1.0)
    OUT.append("/// Gradients {3, 0} and {-4, 12} clipped together to a norm of 1: times 1 / (13 + 1e-6).")
    OUT.append(f"inline constexpr double kClipNorm = {float(norm):.17g};")
    array("kClipped", torch.cat([x.grad for x in p]))


def initialisation():
    OUT.append("/// torch.nn.Linear starts weight and bias uniform in [-b, b], b = 1 / sqrt(in): {in, b}.")
    rows = []
    for size in (1, 10, 512, 784):
        torch.manual_seed(0)
        layer = torch.nn.Linear(size, 4000)
        bound = 1 / math.sqrt(size)
        for tensor in (layer.weight, layer.bias):
            # What torch draws fills the interval and does not leave it.
            assert 0.99 * bound < float(tensor.detach().abs().max()) <= bound * (1 + 1e-6), (size, bound)
        rows.append(f"{{{size}, {bound:.17g}}}")
    OUT.append("struct LinearBound {\n  int in;\n  double bound;\n};")
    OUT.append(f"inline constexpr LinearBound kLinearBounds[] = {{{', '.join(rows)}}};")


def schedule():
    OUT.append("/// Warm-up over 10 steps to 1e-3, then half a cosine to 0 at step 100: {step, rate}.")
    OUT.append("struct Rate {\n  int step;\n  double rate;\n};")
    from mlp import rate
    rows = ", ".join(f"{{{t}, {rate(t):.17g}}}" for t in (1, 2, 5, 9, 10, 11, 32, 55, 99, 100))
    OUT.append(f"inline constexpr Rate kWarmupCosine[] = {{{rows}}};")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for part in (unaries, cross_entropy, mlp, updates, clipping, initialisation, schedule):
        OUT.append("")
        part()
    text = "\n".join(["// SPDX-FileCopyrightText: The wafer authors", "// SPDX-License-Identifier: Apache-2.0",
                      f"// Written by ops.py with PyTorch {torch.__version__}, in f64.", "// clang-format off",
                      "#pragma once", "", "namespace oracle {", *OUT, "", "}  // namespace oracle", ""])
    (pathlib.Path(__file__).parent / "ops_figures.hpp").write_text(text)


if __name__ == "__main__":
    main()
