// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/data/loader.hpp>
#include <wafer/error.hpp>

#include "catch.hpp"
#include "temp_folder.hpp"

#include <cstdlib>
#include <iterator>
#include <numeric>
#include <ranges>
#include <set>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer_test::message_of;

namespace {

/// Row r has the features 10 r, 10 r + 1 and the label r.
data::Dataset set_of(Index rows) {
  data::Dataset set;
  set.rows = rows;
  set.features = 2;
  for (Index r = 0; r < rows; ++r) {
    set.images.push_back(static_cast<float>(10 * r));
    set.images.push_back(static_cast<float>(10 * r + 1));
    set.labels.push_back(static_cast<std::int32_t>(r));
  }
  return set;
}

std::vector<Index> sizes(data::Loader& loader) {
  std::vector<Index> result;
  for (const Batch& batch : loader) result.push_back(batch.rows);
  return result;
}

std::vector<std::int32_t> labels(data::Loader& loader) {
  std::vector<std::int32_t> result;
  for (const Batch& batch : loader) result.insert(result.end(), batch.label.begin(), batch.label.end());
  return result;
}

static_assert(std::input_iterator<data::Loader::Iterator>);
static_assert(std::ranges::input_range<data::Loader>);

}  // namespace

TEST_CASE("the last partial batch is kept or dropped") {
  for (const bool shuffle : {false, true}) {
    data::Loader keeps{set_of(10), 4, {.shuffle = shuffle}};
    CHECK(keeps.batches() == 3);
    CHECK(keeps.rows() == 10);
    CHECK(sizes(keeps) == std::vector<Index>{4, 4, 2});
    data::Loader drops{set_of(10), 4, {.shuffle = shuffle, .drop_last = true}};
    CHECK(drops.batches() == 2);
    CHECK(sizes(drops) == std::vector<Index>{4, 4});
    data::Loader none{set_of(3), 4, {.shuffle = shuffle, .drop_last = true}};
    CHECK(none.batches() == 0);
    CHECK(sizes(none).empty());
    data::Loader small{set_of(3), INT64_MAX, {.shuffle = shuffle}};
    CHECK(sizes(small) == std::vector<Index>{3});
    data::Loader empty{set_of(0), 4, {.shuffle = shuffle}};
    CHECK(empty.batches() == 0);
    CHECK(sizes(empty).empty());
  }
}

TEST_CASE("without shuffle batches come in the set's order, each epoch") {
  data::Loader loader{set_of(5), 2, {.shuffle = false}};
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<Index> firsts;
    std::vector<float> images;
    for (const Batch& batch : loader) {
      firsts.push_back(batch.first);
      images.insert(images.end(), batch.image.begin(), batch.image.end());
    }
    CHECK(firsts == std::vector<Index>{0, 2, 4});
    CHECK(images == std::vector<float>{0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  }
}

TEST_CASE("a shuffled epoch yields each row once, with its own label") {
  data::Loader loader{set_of(103), 10};
  std::set<std::int32_t> seen;
  for (const Batch& batch : loader) {
    REQUIRE(batch.image.size() == static_cast<std::size_t>(batch.rows) * 2);
    REQUIRE(batch.label.size() == static_cast<std::size_t>(batch.rows));
    for (std::size_t i = 0; i < batch.label.size(); ++i) {
      CHECK(batch.image[2 * i] == static_cast<float>(10 * batch.label[i]));
      CHECK(batch.image[2 * i + 1] == static_cast<float>(10 * batch.label[i] + 1));
      CHECK(seen.insert(batch.label[i]).second);
    }
  }
  CHECK(seen.size() == 103);
}

TEST_CASE("the order depends on seed and epoch alone") {
  data::Loader a{set_of(50), 7}, b{set_of(50), 7}, c{set_of(50), 7, {.seed = 1}}, d{set_of(50), 8};
  const auto first = labels(a), second = labels(a);
  CHECK(first != second);
  CHECK(labels(b) == first);
  CHECK(labels(b) == second);
  CHECK(labels(c) != first);
  CHECK(labels(d) == first);
  for (const Batch& batch : a) {
    CHECK(batch.first == 0);
    break;
  }
  // A loop left early counts as an epoch.
  labels(b);
  CHECK(labels(a) == labels(b));
}

TEST_CASE("a shuffle puts every row everywhere equally often") {
  data::Loader loader{set_of(4), 4};
  std::vector<int> counts(16);
  for (int epoch = 0; epoch < 16'000; ++epoch) {
    const auto order = labels(loader);
    for (std::size_t i = 0; i < 4; ++i) ++counts[i * 4 + static_cast<std::size_t>(order[i])];
  }
  // The standard deviation of a count is 54.8; five of them.
  for (const int count : counts) CHECK(std::abs(count - 4000) < 274);
}

TEST_CASE("a loader keeps its set alive and shows no new memory") {
  int rows = 0;
  for (const Batch& batch : data::Loader{set_of(9), 4}) rows += static_cast<int>(batch.rows);
  CHECK(rows == 9);
  data::Loader first{set_of(9), 4};
  data::Loader copy = first;
  CHECK(&copy.dataset() == &first.dataset());
  CHECK(labels(copy) == labels(first));
  std::set<const float*> places;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const Batch& batch : first) places.insert(batch.image.data());
  CHECK(places.size() == 1);
}

TEST_CASE("a loader refuses an empty batch and a set that does not fit itself") {
  for (const Index batch : {Index{0}, Index{-1}})
    CHECK_THAT(message_of<UserError>([&] { data::Loader(set_of(3), batch); }),
               ContainsSubstring("expected a batch of at least 1 row, got " + std::to_string(batch)));
  data::Dataset set = set_of(3);
  set.labels.pop_back();
  CHECK_THAT(message_of<UserError>([&] { data::Loader(set, 1); }),
             ContainsSubstring("a label for each row, got 2"));
  set = set_of(3);
  set.images.push_back(0);
  CHECK_THAT(message_of<UserError>([&] { data::Loader(set, 1); }),
             ContainsSubstring("cannot have 7 image values"));
  set = set_of(4);
  set.rows = Index{1} << 31;
  set.features = Index{1} << 33;
  CHECK_THROWS_AS(data::Loader(set, 1), UserError);
  set.rows = -1;
  CHECK_THROWS_AS(data::Loader(set, 1), UserError);
}
