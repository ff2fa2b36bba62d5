// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge_fixture.hpp"

#include <wafer/bridge/eigen.hpp>

using namespace bridge_test;

namespace {

using Matrix = RowMajorMatrix<float>;
using Vector = Eigen::VectorXf;
using Labels = Eigen::Matrix<std::int32_t, Eigen::Dynamic, 1>;

// 1, 2, 3, ... row by row.
Matrix counted(Eigen::Index rows, Eigen::Index columns) {
  Matrix out(rows, columns);
  for (Eigen::Index i = 0; i < out.size(); ++i) out.data()[i] = static_cast<float>(i + 1);
  return out;
}

const Labels kLabels = (Labels(4) << 7, -8, 9, 0).finished();

}  // namespace

TEST_CASE("Eigen: feeds, results and weights with values known by hand, on a host and on a mesh") {
  for (const bool mesh : {false, true}) {
    Session session = Network{}.session(mesh);
    const Matrix x = (Matrix(2, 3) << 1, 0, 0, 0, 1, 0).finished();
    set_variable(session, "w", (Matrix(3, 2) << 1, 2, 3, 4, 5, 6).finished());
    set_variable(session, "bias", (Vector(2) << 10, 20).finished());
    CHECK(session.get("w") == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(get_matrix(session, "w") == (Matrix(3, 2) << 1, 2, 3, 4, 5, 6).finished());
    CHECK(get_vector(session, "bias") == (Vector(2) << 10, 20).finished());
    CHECK(get_matrix(session, "bias") == (Matrix(1, 2) << 10, 20).finished());

    const Result seen = session.step("look", {feed("x", x), feed("label", kLabels.head(2))});
    CHECK(as_matrix(seen["x"]) == x);
    CHECK(as_matrix(seen["y"]) == (Matrix(2, 2) << 11, 22, 13, 24).finished());
    CHECK(as_vector<std::int32_t>(seen["label"]) == kLabels.head(2));
    CHECK(as_matrix<std::int32_t>(seen["label"]) == kLabels.head(2).transpose());
    CHECK(as_matrix(seen["total"]) == Matrix::Constant(1, 1, 70));
    CHECK(as_vector(seen["total"]) == Vector::Constant(1, 70));

    // The gradient of the sum of y is the number of rows for the bias, and the sum of x over rows for each
    // column of w.
    session.step("train", {feed("x", x)});
    CHECK(get_matrix(session, "w") == (Matrix(3, 2) << 0, 1, 2, 3, 5, 6).finished());
    CHECK(get_vector(session, "bias") == (Vector(2) << 8, 18).finished());
  }
}

TEST_CASE("Eigen: odd, prime, single and no rows and columns") {
  for (const bool mesh : {false, true}) {
    for (const Eigen::Index columns : {1, 3, 13}) {
      Session session = echo(mesh, static_cast<Index>(columns));
      for (const Eigen::Index rows : {0, 1, 2, 7, 13}) {
        INFO(rows << " x " << columns << (mesh ? ", mesh" : ", host"));
        const Matrix x = counted(rows, columns);
        const Result result = session.step({feed("x", x)});
        CHECK(as_matrix(result["x"]).rows() == rows);
        CHECK(as_matrix(result["x"]).cols() == columns);
        CHECK(as_matrix(result["x"]) == x);
        CHECK(as_matrix(result["x"]).data() == result["x"].values<float>().data());
      }
    }
  }
}

TEST_CASE("Eigen: what lies row-major in memory is fed, whatever its type") {
  Session session = echo(false, 3);
  const Matrix x = counted(4, 3);
  const auto fed = [&](const auto& values) {
    return Matrix(as_matrix(session.step({feed("x", values)})["x"]));
  };
  CHECK(fed(x.topRows(2)) == x.topRows(2));
  CHECK(fed(x.middleRows(1, 3)) == x.middleRows(1, 3));
  CHECK(fed(x.block(3, 0, 1, 3)) == x.bottomRows(1));
  CHECK(fed(Eigen::Map<const Matrix>(x.data(), 2, 3)) == x.topRows(2));
  CHECK(fed(Eigen::Ref<const Matrix>(x)) == x);
  CHECK(fed(Eigen::Array<float, 4, 3, Eigen::RowMajor>(x)) == x);
  CHECK(fed(Eigen::MatrixXf(x.transpose()).transpose()) == x);  // column-major, seen as its rows
  CHECK(fed(Matrix(x * 2)) == 2 * x);                           // lives as long as the step
  // One row, or one column, has no gap that could matter.
  Session thin = echo(false, 1);
  CHECK(as_matrix(thin.step({feed("x", counted(3, 1))})["x"]) == counted(3, 1));
  CHECK(fed(Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(x.data(), 1, 3, Eigen::OuterStride<>(100))) ==
        x.topRows(1));

  Session vector = echo(false);
  const auto fed_vector = [&](const auto& values) {
    return Vector(as_vector(vector.step({feed("x", values)})["x"]));
  };
  CHECK(fed_vector(x.row(2)) == x.row(2).transpose());
  CHECK(fed_vector(Eigen::RowVector3f(1, 2, 3)) == Eigen::Vector3f(1, 2, 3));
  CHECK(fed_vector(Eigen::ArrayXf::LinSpaced(3, 1, 3).eval()) == Eigen::Vector3f(1, 2, 3));
  CHECK(fed_vector(Eigen::MatrixXf(x).col(1)) == x.col(1));
  CHECK(fed_vector(x.col(1).head(1)) == x.col(1).head(1));
}

TEST_CASE("Eigen: gaps that show at run time name the input and change nothing") {
  Session session = Network{}.session(false);
  const Matrix wide = counted(4, 5);
  const std::string gap = message_of<RunError>([&] { feed("x", wide.leftCols(3)); });
  CHECK(gap == "input 'x': expected [4, 3] row-major without gaps, with a stride of 3 in dimension 0, got 5");
  const std::string column = message_of<RunError>([&] { feed(session.bind("x"), wide.col(2)); });
  CHECK(column ==
        "input '#0': expected [4] row-major without gaps, with a stride of 1 in dimension 0, got 5");
  const Eigen::Map<const Matrix, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> every_second(
      wide.data(), 2, 3, {10, 2});
  CHECK_THROWS_AS(feed("x", every_second), RunError);
  const Eigen::Map<const Matrix, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> columns_first(
      wide.data(), 3, 3, {1, 3});
  CHECK_THROWS_AS(feed("x", columns_first), RunError);
  CHECK_NOTHROW(feed("x", wide.topRows(0).leftCols(3)));
}

TEST_CASE("Eigen: wrong shapes and types are typed errors") {
  Session session = Network{}.session(false);
  const Matrix x = counted(4, 3);
  expect_message<RunError>([&] { session.step("train", {feed("x", counted(4, 2))}); },
                           {"'x'", "3", "[4, 2]"});
  expect_message<RunError>([&] { session.step("train", {feed("x", Vector::Ones(12).eval())}); },
                           {"'x'", "rank 2", "[12]"});
  expect_message<RunError>([&] { session.step("train", {feed("x", Labels::Ones(4).eval())}); },
                           {"'x'", "f32", "i32"});
  const Result seen = session.step("look", {feed(session.bind("x"), x), feed("label", kLabels)});
  expect_message<RunError>([&] { as_matrix<std::int32_t>(seen["y"]); }, {"'y'", "f32", "std::int32_t"});
  expect_message<RunError>([&] { as_vector(seen["y"]); }, {"result 'y'", "rank 0 or 1", "[4, 2]"});
  expect_message<RunError>([&] { as_matrix(seen["cube"]); },
                           {"result 'cube'", "rank 0, 1 or 2", "[1, 2, 3]"});

  expect_message<RunError>([&] { set_variable(session, "w", counted(2, 3)); },
                           {"parameter 'w'", "expected [3, 2]", "got [2, 3]"});
  expect_message<RunError>([&] { set_variable(session, "w", counted(1, 6)); }, {"'w'", "[3, 2]", "[1, 6]"});
  expect_message<RunError>([&] { set_variable(session, "w", Vector::Ones(6)); }, {"'w'", "[3, 2]", "[6]"});
  expect_message<RunError>([&] { set_variable(session, "bias", counted(2, 1)); },
                           {"'bias'", "[2]", "[2, 1]"});
  expect_message<RunError>([&] { set_variable(session, "cube", counted(2, 3)); },
                           {"'cube'", "[1, 2, 3]", "[2, 3]"});
  expect_message<RunError>([&] { set_variable(session, "v", x); }, {"'v'"});
  expect_message<RunError>([&] { get_matrix(session, "v"); }, {"'v'"});
  expect_message<RunError>([&] { get_matrix(session, "cube"); },
                           {"parameter 'cube'", "rank 0, 1 or 2", "[1, 2, 3]"});
  expect_message<RunError>([&] { get_vector(session, "w"); }, {"parameter 'w'", "rank 0 or 1", "[3, 2]"});
  CHECK(session.get("w") == std::vector<float>(6, 0));
}

TEST_CASE("Eigen: a variable is set by any expression") {
  for (const bool mesh : {false, true}) {
    Session session = Network{}.session(mesh);
    const Eigen::MatrixXf columns_first = counted(3, 2);
    set_variable(session, "w", columns_first);
    CHECK(session.get("w") == std::vector<float>{1, 2, 3, 4, 5, 6});
    set_variable(session, "w", counted(2, 3).transpose() * 2);
    CHECK(session.get("w") == std::vector<float>{2, 8, 4, 10, 6, 12});
    set_variable(session, "w", Eigen::Array<double, 3, 2>::Constant(0.5).cast<float>());
    CHECK(session.get("w") == std::vector<float>(6, 0.5F));
    set_variable(session, "bias", Eigen::RowVector2f(3, 4));
    CHECK(session.get("bias") == std::vector<float>{3, 4});
    set_variable(session, "bias", get_matrix(session, "bias") + counted(1, 2));
    CHECK(session.get("bias") == std::vector<float>{4, 6});
    set_variable(session, "scale", Matrix::Constant(1, 1, 5));
    CHECK(get_matrix(session, "scale") == Matrix::Constant(1, 1, 5));
    set_variable(session, "scale", get_vector(session, "scale") * 2);
    CHECK(session.get("scale") == std::vector<float>{10});
  }
}
