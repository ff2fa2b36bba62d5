// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Tiles of products whose first matrix is stored by columns: 128 columns wide, where enough rows are left.
#include <wafer/wafer.hpp>

#include "catch.hpp"

#include <string>

using namespace wafer;

namespace {

std::string tiles_of_product(const Matmul& op, const Shape& a, const Shape& b) {
  Graph g;
  const Tensor product =
      apply(op, {parameter(g, "a", a, Init::zeros()), parameter(g, "b", b, Init::zeros())}).at(0);
  const Executable executable = compile(fetch("product", product), Fabric::host(), {.threads = 2});
  const std::string text = executable.plan().dump("tiling");
  const auto at = text.find("tiles ");
  return at == std::string::npos ? "one" : text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE(
    "columns of a product with a transposed first matrix are cut in 128 where rows can be cut as well") {
  const Matmul transposed{.transpose_a = true};
  // Two workers want 16 tiles: 3 of columns, and for each 6 of rows.
  CHECK(tiles_of_product(transposed, {2048, 384}, {2048, 384}) == "tiles 3 of 128 x 6 of 64");
  CHECK(tiles_of_product({}, {384, 2048}, {2048, 384}) == "tiles 12 of 32 x 2 of 192");
  // 2 of columns would leave 8 of 32 rows.
  CHECK(tiles_of_product(transposed, {2048, 256}, {2048, 256}) == "tiles 8 of 32 x 2 of 128");
}
