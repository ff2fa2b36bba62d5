// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Both bridges in one source: Eigen's matrices in, xtensor's arrays out, and the other way round.
#include <wafer/bridge/eigen.hpp>
#include <wafer/bridge/xtensor.hpp>
#include <wafer/wafer.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace wafer;

namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected " + what);
}

// y = x w + b. A step of SGD at rate 1 on the sum of y subtracts the sum of x over the rows from each column
// of w, and the number of rows from b.
void trains_by_hand_known_values(const Fabric& fabric) {
  Graph g;
  const Axis batch = g.axis("batch", 4);
  const Tensor x = g.input("x", {batch, 2});
  if (fabric.blocks() > 1) x.split(batch, Mesh::rows);
  const Tensor w = parameter(g, "w", {2, 3}, Init::zeros()), b = parameter(g, "b", {3}, Init::zeros());
  const Tensor y = matmul(x, w) + b;
  Session session{compile(minimize(sum(y), SGD{.lr = 1}).fetch("y", y), fabric)};

  const RowMajorMatrix<float> weights = (RowMajorMatrix<float>(2, 3) << 1, 2, 3, 4, 5, 6).finished();
  set_variable(session, "w", weights);
  set_variable(session, "b", xt::xarray<float>{10, 20, 30});
  expect(get_xarray(session, "w") == xt::xarray<float>{{1, 2, 3}, {4, 5, 6}}, "Eigen's weights as xtensor's");
  expect(get_vector(session, "b") == Eigen::Vector3f(10, 20, 30), "xtensor's bias as Eigen's");

  const RowMajorMatrix<float> rows = (RowMajorMatrix<float>(3, 2) << 1, 0, 0, 1, 1, 1).finished();
  const Result first = session.step({feed("x", rows)});
  expect(as_xarray(first["y"]) == xt::xarray<float>{{11, 22, 33}, {14, 25, 36}, {15, 27, 39}}, "x w + b");
  expect(get_matrix(session, "w") == (weights.array() - 2).matrix(), "2 less in all weights");

  const Result second = session.step({feed("x", xt::xarray<float>{{1, 0}})});
  expect(as_matrix(second["y"]) == Eigen::RowVector3f(-1 + 7, 0 + 17, 1 + 27), "the first row of w, and b");
}

}  // namespace

void readme_eigen();
void readme_xtensor();

int main() {
  try {
    readme_eigen();
    readme_xtensor();
    trains_by_hand_known_values(Fabric::host());
    trains_by_hand_known_values(Fabric::mesh(2, 2));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
