// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>
#include <wafer/data/idx.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

namespace wafer::inline v0 {
namespace data {

/// Rows that one step learns from. The spans show the loader's memory and last until the next batch.
struct Batch {
  std::span<const float> image;         ///< rows x features, row-major
  std::span<const std::int32_t> label;  ///< one per row
  Index rows = 0;
  Index first = 0;  ///< position of the first row in this epoch's order
};

struct LoaderOptions {
  std::uint64_t seed = 0;  ///< with the number of the epoch, decides the order of the rows
  bool shuffle = true;     ///< each epoch in an order of its own; otherwise the order of the set
  bool drop_last = false;  ///< leave out a last batch with fewer rows than the others
};

/// Cuts a data set into batches:
///
///     for (const Batch& batch : data::Loader{data::fashion_mnist(folder, "train"), 128}) ...
///
/// Every begin() starts another epoch, so one loop is one pass through the set, and the n-th loop sees the
/// same order wherever it runs. The loader owns its data set, or shares it with its copies, and allocates
/// nothing after its construction. Not for use from two threads or in two loops at once: copy it (a copy has
/// its own epochs and buffers, and shares the set).
class Loader {
 public:
  class Iterator;

  /// Throws UserError for batch < 1, for a set whose vectors do not have the sizes that its rows and features
  /// ask for, and for more than 2^32 rows.
  Loader(Dataset set, Index batch, LoaderOptions options = {});

  /// Starts the next epoch and yields its batches.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// Batches in an epoch: 10 rows in batches of 4 are 3, or 2 with drop_last.
  Index batches() const;
  /// Rows of the whole set, whether or not an epoch yields all of them.
  Index rows() const { return set_->rows; }
  const Dataset& dataset() const& { return *set_; }
  const Dataset& dataset() const&& = delete;

 private:
  void shuffle();
  void load(Index number, Batch& batch);

  std::shared_ptr<const Dataset> set_;
  Index batch_;
  LoaderOptions options_;
  std::uint64_t epoch_ = 0;           // epochs begun so far
  std::vector<std::uint32_t> order_;  // rows in the order of this epoch; empty without shuffle
  std::vector<float> images_;         // the rows of a shuffled batch, gathered
  std::vector<std::int32_t> labels_;
};

/// Input iterator over the batches of one epoch; valid until its loader is moved, destroyed or begun anew.
class Loader::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  const Batch& operator*() const { return batch_; }
  const Batch* operator->() const { return &batch_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.number_ == it.count_; }

 private:
  friend class Loader;
  explicit Iterator(Loader& loader);

  Loader* loader_;
  Index number_ = 0;
  Index count_;
  Batch batch_;
};

}  // namespace data

using data::Batch;

}  // namespace wafer::inline v0
