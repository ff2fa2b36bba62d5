// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels_fixture.hpp"

using namespace wafer_test;
using wafer::kernels::AdamwScalars;
using wafer::kernels::SgdScalars;
using wafer::kernels::Table;

namespace {

struct State {
  Floats p, m, v;
};

void sgd(const Table& table, State& state, const Floats& g, const SgdScalars& scalars, bool momentum) {
  table.sgd_update(1, static_cast<Index>(g.size()), {state.p.data(), 0},
                   {momentum ? state.m.data() : nullptr, 0}, {g.data(), 0}, scalars);
}

void adamw(const Table& table, State& state, const Floats& g, const AdamwScalars& scalars) {
  table.adamw_update(1, static_cast<Index>(g.size()), {state.p.data(), 0}, {state.m.data(), 0},
                     {state.v.data(), 0}, {g.data(), 0}, scalars);
}

AdamwScalars adamw_at(int step) {
  const double beta1 = 0.9, beta2 = 0.999, rate = 1e-3;
  AdamwScalars scalars;
  scalars.decay = static_cast<float>(1 - rate * 0.01);
  scalars.beta1 = static_cast<float>(beta1);
  scalars.beta2 = static_cast<float>(beta2);
  scalars.one_minus_beta1 = static_cast<float>(1 - beta1);
  scalars.one_minus_beta2 = static_cast<float>(1 - beta2);
  scalars.epsilon = 1e-8F;
  scalars.step_size = static_cast<float>(rate / (1 - std::pow(beta1, step)));
  scalars.sqrt_bias2 = static_cast<float>(std::sqrt(1 - std::pow(beta2, step)));
  return scalars;
}

}  // namespace

WAFER_KERNEL_CASE("SGD with numbers that are exact") {
  WAFER_KERNEL_TABLE();
  for (const std::size_t n : {1U, 4U, 21U}) {
    const Floats g(n, 4);
    SgdScalars scalars;
    scalars.learning_rate = 0.5F;
    State plain{Floats(n, 1), {}, {}};
    sgd(table, plain, g, scalars, false);
    CHECK(plain.p == Floats(n, -1));

    scalars.scale = 0.25F;  // d = 1 + 2·1 = 3
    scalars.weight_decay = 2;
    State decayed{Floats(n, 1), {}, {}};
    sgd(table, decayed, g, scalars, false);
    CHECK(decayed.p == Floats(n, -0.5F));

    scalars.momentum = 0.5F;  // m = 0.5·2 + 3 = 4
    State moving{Floats(n, 1), Floats(n, 2), {}};
    sgd(table, moving, g, scalars, true);
    CHECK(moving.m == Floats(n, 4));
    CHECK(moving.p == Floats(n, -1));

    scalars.nesterov = true;  // the step is 3 + 0.5·4 = 5
    State ahead{Floats(n, 1), Floats(n, 2), {}};
    sgd(table, ahead, g, scalars, true);
    CHECK(ahead.m == Floats(n, 4));
    CHECK(ahead.p == Floats(n, -1.5F));
  }
}

WAFER_KERNEL_CASE("SGD without weight decay leaves an infinite weight infinite") {
  WAFER_KERNEL_TABLE();
  SgdScalars scalars;
  scalars.learning_rate = 1;
  State state{{kInfinity}, {}, {}};
  sgd(table, state, {1}, scalars, false);
  CHECK(state.p[0] == kInfinity);
}

WAFER_KERNEL_CASE("AdamW's first step moves by the learning rate against the sign") {
  WAFER_KERNEL_TABLE();
  for (const std::size_t n : {1U, 19U}) {
    AdamwScalars scalars = adamw_at(1);
    scalars.decay = 1;
    State state{Floats(n, 1), Floats(n), Floats(n)};
    adamw(table, state, Floats(n, -3), scalars);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(relative_error(state.m[i], -0.3) <= 1e-6);
      CHECK(relative_error(state.v[i], 0.009) <= 1e-6);
      CHECK(relative_error(state.p[i], 1.001) <= 1e-7);
    }
  }
}

WAFER_KERNEL_CASE("AdamW follows its formula in f64 for 20 steps") {
  WAFER_KERNEL_TABLE();
  Random random(12);
  const Index n = 37;
  State state{random.floats(n), Floats(37), Floats(37)};
  std::vector<double> p(state.p.begin(), state.p.end()), m(37), v(37);
  for (int step = 1; step <= 20; ++step) {
    const Floats g = random.floats(n);
    AdamwScalars scalars = adamw_at(step);
    scalars.scale = 0.5F;
    adamw(table, state, g, scalars);
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double d = 0.5 * static_cast<double>(g[i]);
      m[i] = 0.9 * m[i] + 0.1 * d;
      v[i] = 0.999 * v[i] + 0.001 * d * d;
      const double m_hat = m[i] / (1 - std::pow(0.9, step));
      const double v_hat = v[i] / (1 - std::pow(0.999, step));
      p[i] = p[i] * (1 - 1e-3 * 0.01) - 1e-3 * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    CHECK(std::abs(static_cast<double>(state.p[i]) - p[i]) <= 1e-6);
    CHECK(std::abs(static_cast<double>(state.m[i]) - m[i]) <= 1e-6);
    CHECK(std::abs(static_cast<double>(state.v[i]) - v[i]) <= 1e-7);
  }
}

WAFER_KERNEL_CASE("Moments that fade to denormal numbers become 0, and steps are as without that") {
  WAFER_KERNEL_TABLE();
  constexpr float kLeast = std::numeric_limits<float>::min(), kDenormal = kLeast / 4;
  for (const std::size_t n : {1U, 4U, 21U}) {
    SgdScalars scalars;
    scalars.learning_rate = 1;
    scalars.momentum = 0.5F;
    State sgd_state{Floats(n, 0), Floats(n, -kLeast), {}};  // m = -least/2, which the step still makes
    sgd(table, sgd_state, Floats(n, 0), scalars, true);
    CHECK(sgd_state.p == Floats(n, kLeast / 2));
    CHECK(sgd_state.m == Floats(n, 0));
    State kept{Floats(n, 0), Floats(n, -2 * kLeast), {}};
    sgd(table, kept, Floats(n, 0), scalars, true);
    CHECK(kept.m == Floats(n, -kLeast));

    AdamwScalars adam = adamw_at(1);
    State both{Floats(n, 1), Floats(n, kDenormal), Floats(n, kDenormal)};
    adamw(table, both, Floats(n, 0), adam);
    CHECK(both.m == Floats(n, 0));
    CHECK(both.v == Floats(n, 0));
    // A second moment that a first one is divided by stays, and so does one that alone makes 0/0 a 0.
    State divides{Floats(n, 1), Floats(n, 1), Floats(n, kDenormal)};
    adamw(table, divides, Floats(n, 0), adam);
    CHECK(divides.v.front() > 0);
    adam.epsilon = 0;
    State alone{Floats(n, 1), Floats(n, kDenormal), Floats(n, kDenormal)};
    adamw(table, alone, Floats(n, 0), adam);
    CHECK(alone.m == Floats(n, 0));
    CHECK(alone.v.front() > 0);
  }
}

WAFER_KERNEL_CASE("An update may be cut anywhere without a change of bits") {
  WAFER_KERNEL_TABLE();
  Random random(13);
  const Index n = 75;
  const State before{random.floats(n), random.floats(n), random.floats(n, 0, 1)};
  const Floats g = random.floats(n);
  SgdScalars scalars;
  scalars.learning_rate = 0.1F;
  scalars.momentum = 0.9F;
  scalars.weight_decay = 0.01F;
  State sgd_whole = before;
  State adamw_whole = before;
  sgd(table, sgd_whole, g, scalars, true);
  adamw(table, adamw_whole, g, adamw_at(3));
  for (const Index cut : {1, 16, 31}) {
    State s = before;
    State a = before;
    for (const auto& [begin, size] : {std::pair{Index{0}, cut}, std::pair{cut, n - cut}}) {
      table.sgd_update(1, size, {s.p.data() + begin, 0}, {s.m.data() + begin, 0}, {g.data() + begin, 0},
                       scalars);
      table.adamw_update(1, size, {a.p.data() + begin, 0}, {a.m.data() + begin, 0}, {a.v.data() + begin, 0},
                         {g.data() + begin, 0}, adamw_at(3));
    }
    CHECK(same_bits(s.p, sgd_whole.p));
    CHECK(same_bits(s.m, sgd_whole.m));
    CHECK(same_bits(a.p, adamw_whole.p));
    CHECK(same_bits(a.m, adamw_whole.m));
    CHECK(same_bits(a.v, adamw_whole.v));
  }
}

WAFER_KERNEL_CASE("An update of a matrix with gaps between its rows is that of its elements") {
  WAFER_KERNEL_TABLE();
  Random random(15);
  const Index rows = 3, cols = 17, gap = 5, n = rows * (cols + gap);
  const State before{random.floats(n), random.floats(n), random.floats(n, 0, 1)};
  const Floats g = random.floats(n);
  SgdScalars scalars;
  scalars.learning_rate = 0.1F;
  scalars.momentum = 0.9F;
  State sgd_all = before, adamw_all = before, s = before, a = before;
  sgd(table, sgd_all, g, scalars, true);
  adamw(table, adamw_all, g, adamw_at(3));
  const Index row = cols + gap;
  table.sgd_update(rows, cols, {s.p.data(), row}, {s.m.data(), row}, {g.data(), row}, scalars);
  table.adamw_update(rows, cols, {a.p.data(), row}, {a.m.data(), row}, {a.v.data(), row}, {g.data(), row},
                     adamw_at(3));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const bool in = static_cast<Index>(i) % row < cols;
    CHECK(same_bits(s.p[i], in ? sgd_all.p[i] : before.p[i]));
    CHECK(same_bits(s.m[i], in ? sgd_all.m[i] : before.m[i]));
    CHECK(same_bits(a.p[i], in ? adamw_all.p[i] : before.p[i]));
    CHECK(same_bits(a.m[i], in ? adamw_all.m[i] : before.m[i]));
    CHECK(same_bits(a.v[i], in ? adamw_all.v[i] : before.v[i]));
  }
}

WAFER_KERNEL_CASE("Updates have the bits of all targets alike in fused multiply-add") {
  WAFER_KERNEL_TABLE();
  Random random(14);
  State state{random.floats(100), random.floats(100), random.floats(100, 0, 1)};
  const Floats g = random.floats(100);
  SgdScalars scalars;
  scalars.learning_rate = 0.1F;
  scalars.momentum = 0.9F;
  scalars.weight_decay = 0.01F;
  scalars.nesterov = true;
  for (int step = 1; step <= 5; ++step) {
    sgd(table, state, g, scalars, true);
    adamw(table, state, g, adamw_at(step));
  }
  const std::uint64_t hash = hash_of(state.v, hash_of(state.m, hash_of(state.p)));
  CHECK(hash == (wafer::kernels::fuses(kTarget) ? 0x2ade4deed8c02ef2 : 0x64674e8e58f83a42));
}
