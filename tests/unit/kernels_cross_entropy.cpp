// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/math64.hpp"
#include "kernels_fixture.hpp"

using namespace wafer_test;

namespace {

using Labels = std::vector<std::int32_t>;

float loss_of(const wafer::kernels::Table& table, const Floats& z, std::int32_t label) {
  float loss = 0;
  Floats p(z.size());
  table.cross_entropy(1, static_cast<Index>(z.size()), z.data(), 0, &label, &loss, p.data(), 0);
  return loss;
}

Floats gradient_of(const wafer::kernels::Table& table, const Floats& z, std::int32_t label, float g = 1) {
  float loss = 0;
  Floats p(z.size()), dz(z.size());
  const auto classes = static_cast<Index>(z.size());
  table.cross_entropy(1, classes, z.data(), 0, &label, &loss, p.data(), 0);
  table.cross_entropy_gradient(1, classes, p.data(), 0, &label, &g, 0, dz.data(), 0);
  return dz;
}

}  // namespace

WAFER_KERNEL_CASE("Cross entropy of known logits") {
  WAFER_KERNEL_TABLE();
  CHECK(relative_error(loss_of(table, {1, 2, 3}, 0), 2.40760596) <= 1e-6);
  CHECK(relative_error(loss_of(table, {0, 0}, 1), 0.69314718) <= 1e-6);
  CHECK(loss_of(table, {7}, 0) == 0);
  CHECK(loss_of(table, {1000, 0}, 1) == 1000);
  CHECK(loss_of(table, {1000, 0}, 0) == 0);
  CHECK(loss_of(table, {-kInfinity, 0}, 0) == kInfinity);
  CHECK(loss_of(table, {-kInfinity, 0}, 1) == 0);
  CHECK(std::isnan(loss_of(table, {kNan, 0}, 1)));
  CHECK(std::isnan(loss_of(table, {0, kNan}, 0)));
  CHECK(std::isnan(loss_of(table, {-kInfinity, -kInfinity}, 0)));
}

WAFER_KERNEL_CASE("The gradient of cross entropy is softmax less one at the label") {
  WAFER_KERNEL_TABLE();
  const Floats dz = gradient_of(table, {1, 2, 3}, 0, 2);
  CHECK(relative_error(dz[0], 2 * (0.09003057317 - 1)) <= 1e-6);
  CHECK(relative_error(dz[1], 2 * 0.24472847105) <= 1e-6);
  CHECK(relative_error(dz[2], 2 * 0.66524095577) <= 1e-6);
  CHECK(gradient_of(table, {1000, 0}, 1) == Floats{1, -1});
  CHECK(gradient_of(table, {1000, 0}, 0) == Floats{0, 0});
  CHECK(gradient_of(table, {-kInfinity, 0, 0}, 1) == Floats{0, -0.5F, 0.5F});
  for (const float value : gradient_of(table, {kNan, 0}, 1)) CHECK(std::isnan(value));
}

WAFER_KERNEL_CASE("Cross entropy agrees with f64 on rows of any length, strided and in place") {
  WAFER_KERNEL_TABLE();
  Random random(10);
  const Index rows = 37;  // more than two groups of rows, and not a multiple
  for (const Index classes : {1, 2, 3, 4, 5, 10, 15, 16, 17, 64, 65, 100, 333}) {
    const Index z_row = classes + 3;
    const Floats z = random.floats(rows * z_row, -8, 8);
    const Floats g = random.floats(rows, 0.5F, 2);
    Labels label;
    for (Index i = 0; i < rows; ++i)
      label.push_back(static_cast<std::int32_t>(random.bits() % static_cast<std::uint32_t>(classes)));
    Floats loss(static_cast<std::size_t>(rows));
    Floats dz(static_cast<std::size_t>(rows * classes));
    Floats p(dz.size()), again(loss.size());
    table.cross_entropy(rows, classes, z.data(), z_row, label.data(), loss.data(), p.data(), classes);
    table.cross_entropy_gradient(rows, classes, p.data(), classes, label.data(), g.data(), 1, dz.data(),
                                 classes);
    Floats in_place = z;
    table.cross_entropy(rows, classes, in_place.data(), z_row, label.data(), again.data(), in_place.data(),
                        z_row);
    CHECK(same_bits(again, loss));
    table.cross_entropy_gradient(rows, classes, in_place.data(), z_row, label.data(), g.data(), 1,
                                 in_place.data(), z_row);
    for (Index i = 0; i < rows; ++i) {
      const auto z_at = [&](Index j) {
        return static_cast<double>(z[static_cast<std::size_t>(i * z_row + j)]);
      };
      double total = 0;
      for (Index j = 0; j < classes; ++j) total += wafer::kernels::exp64(z_at(j));
      const auto row = static_cast<std::size_t>(i);
      // Losses are below 32, and rounded twice.
      CHECK(std::abs(loss[row] - (wafer::kernels::log64(total) - z_at(label[row]))) <= 2e-6);
      for (Index j = 0; j < classes; ++j) {
        const double softmax = wafer::kernels::exp64(z_at(j)) / total;
        const double expected = (softmax - (j == label[row] ? 1 : 0)) * static_cast<double>(g[row]);
        const float actual = dz[static_cast<std::size_t>(i * classes + j)];
        if (!(std::abs(actual - expected) <= 1e-6)) FAIL("row " << i << ", class " << j << " of " << classes);
        if (!same_bits(actual, in_place[static_cast<std::size_t>(i * z_row + j)]))
          FAIL("not the same in place");
      }
    }
  }
}

WAFER_KERNEL_CASE("A row has the same cross entropy whatever rows are beside it, and gaps stay") {
  WAFER_KERNEL_TABLE();
  Random random(12);
  const Index rows = 37, gap = 2;
  constexpr float kUntouched = 7;
  for (const Index classes : {1, 3, 4, 7, 10, 16, 17}) {
    Floats z = random.floats(rows * classes, -8, 8);
    z[0] = -kInfinity;
    z[static_cast<std::size_t>(classes)] = kInfinity;
    z[static_cast<std::size_t>(20 * classes)] = kNan;
    Labels label;
    for (Index i = 0; i < rows; ++i) label.push_back(static_cast<std::int32_t>(i % classes));
    const Index p_row = classes + gap;
    Floats loss(static_cast<std::size_t>(rows)), p(static_cast<std::size_t>(rows * p_row), kUntouched);
    table.cross_entropy(rows, classes, z.data(), classes, label.data(), loss.data(), p.data(), p_row);
    for (Index i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      Floats alone(static_cast<std::size_t>(p_row), kUntouched);
      float loss_alone = 0;
      table.cross_entropy(1, classes, z.data() + i * classes, classes, &label[row], &loss_alone, alone.data(),
                          p_row);
      if (!same_bits(loss[row], loss_alone)) FAIL("loss of row " << i << " of " << classes << " classes");
      const Floats in_group(p.begin() + i * p_row, p.begin() + (i + 1) * p_row);
      if (!same_bits(in_group, alone)) FAIL("row " << i << " of " << classes << " classes");
      if (in_group.back() != kUntouched) FAIL("after row " << i << " of " << classes << " classes");
    }
    CHECK(std::isnan(loss[20]));
    CHECK(std::isfinite(loss[21]));
  }
}

WAFER_KERNEL_CASE("Cross entropy has the bits of all targets alike in fused multiply-add") {
  WAFER_KERNEL_TABLE();
  Random random(11);
  std::uint64_t hash = hash_of({});
  for (const Index classes : {2, 10, 65, 200}) {
    const Floats z = random.floats(classes, -20, 20);
    hash = hash_of({loss_of(table, z, 1)}, hash);
    hash = hash_of(gradient_of(table, z, 1), hash);
  }
  CHECK(hash == (wafer::kernels::fuses(kTarget) ? 0x0ed57ce6f222c107 : 0x3cfb4798e47b3972));
}
