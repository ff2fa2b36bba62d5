// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/rng.hpp>
#include <wafer/data/loader.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace wafer::inline v0 {
namespace data {
namespace {

void check(const Dataset& set, Index batch) {
  if (batch < 1)
    throw UserError("data::Loader: expected a batch of at least 1 row, got " + std::to_string(batch));
  if (set.rows < 0 || set.features < 0)
    throw UserError("data::Loader: expected a set without negative sizes, got " + std::to_string(set.rows) +
                    " rows of " + std::to_string(set.features) + " features");
  if (set.rows > Index{1} << 32)
    throw UserError("data::Loader: expected at most 2^32 rows, got " + std::to_string(set.rows));
  const auto rows = static_cast<std::size_t>(set.rows), features = static_cast<std::size_t>(set.features);
  const std::string wanted =
      "data::Loader: a set of " + std::to_string(rows) + " rows of " + std::to_string(features) + " features";
  // By division, since the product of sizes that nobody checked may overflow.
  const bool fits = rows == 0 || features == 0
                        ? set.images.empty()
                        : set.images.size() % features == 0 && set.images.size() / features == rows;
  if (!fits) throw UserError(wanted + " cannot have " + std::to_string(set.images.size()) + " image values");
  if (set.labels.size() != rows)
    throw UserError(wanted + " needs a label for each row, got " + std::to_string(set.labels.size()));
}

}  // namespace

Loader::Loader(Dataset set, Index batch, LoaderOptions options) : batch_(batch), options_(options) {
  check(set, batch);
  set_ = std::make_shared<const Dataset>(std::move(set));
  if (!options_.shuffle) return;
  const Index most = std::min(batch_, set_->rows);
  order_.resize(static_cast<std::size_t>(set_->rows));
  images_.resize(static_cast<std::size_t>(most * set_->features));
  labels_.resize(static_cast<std::size_t>(most));
}

Loader::Iterator Loader::begin() {
  if (options_.shuffle) shuffle();
  ++epoch_;
  return Iterator(*this);
}

Index Loader::batches() const {
  const bool partial = set_->rows % batch_ != 0 && !options_.drop_last;
  return set_->rows / batch_ + (partial ? 1 : 0);
}

// Fisher and Yates from the sorted order, so that an epoch's order depends on seed and epoch alone.
void Loader::shuffle() {
  std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  for (std::size_t i = order_.size(); i > 1; --i) {
    const Index j = uniform_below(options_.seed, epoch_, i, static_cast<Index>(i));
    std::swap(order_[i - 1], order_[static_cast<std::size_t>(j)]);
  }
}

void Loader::load(Index number, Batch& batch) {
  batch.first = number * batch_;
  batch.rows = std::min(batch_, set_->rows - batch.first);
  const auto first = static_cast<std::size_t>(batch.first), rows = static_cast<std::size_t>(batch.rows);
  const auto features = static_cast<std::size_t>(set_->features);
  if (!options_.shuffle) {
    batch.image = std::span(set_->images).subspan(first * features, rows * features);
    batch.label = std::span(set_->labels).subspan(first, rows);
    return;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = order_[first + i];
    std::ranges::copy(std::span(set_->images).subspan(row * features, features),
                      images_.begin() + static_cast<std::ptrdiff_t>(i * features));
    labels_[i] = set_->labels[row];
  }
  batch.image = std::span(images_).first(rows * features);
  batch.label = std::span(labels_).first(rows);
}

Loader::Iterator::Iterator(Loader& loader) : loader_(&loader), count_(loader.batches()) {
  if (count_ > 0) loader_->load(0, batch_);
}

Loader::Iterator& Loader::Iterator::operator++() {
  if (++number_ < count_) loader_->load(number_, batch_);
  return *this;
}

}  // namespace data
}  // namespace wafer::inline v0
