// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/step_name.hpp"
#include "runtime/names.hpp"
#include "runtime/session_state.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace wafer::inline v0 {

namespace {

constexpr Index kUnknown = -1;

// Checks the feeds of one step, finds the run-time extents of the axes, and brings the data into planned
// memory, or lends the caller's.
class FeedTaker {
 public:
  FeedTaker(SessionState& state, std::size_t program)
      : state_(state),
        data_(*state.data),
        program_(data_.programs[program]),
        lendable_(state.lendable[program]),
        feed_of_(state.feed_of_input[program]) {}

  void run(std::span<const Feed> feeds) {
    std::fill(state_.fed.begin(), state_.fed.end(), nullptr);
    for (const Feed& feed : feeds) assign(feed);
    for (std::size_t f = 0; f < program_.feeds.size(); ++f) {
      if (!state_.fed[f]) fail(program_.feeds[f].name, "a feed", "none");
    }
    std::fill(state_.run.axes.begin(), state_.run.axes.end(), kUnknown);
    for (std::size_t f = 0; f < program_.feeds.size(); ++f) {
      if (state_.fed[f]->shape) read_shape(f);
    }
    // A flat buffer may tell an axis that another one needs.
    for (std::size_t round = 0; round < program_.feeds.size(); ++round) {
      for (std::size_t f = 0; f < program_.feeds.size(); ++f) read_size(f);
    }
    for (std::size_t f = 0; f < program_.feeds.size(); ++f) check_size(f);
    for (std::size_t a = 0; a < data_.axes.size(); ++a) {
      if (state_.run.axes[a] == kUnknown) state_.run.axes[a] = data_.axes[a].extent;
    }
    place_all();
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& expected, const std::string& got) const {
    fail_at("input '" + name + "'", expected, got);
  }
  [[noreturn]] void fail_at(const std::string& feed, const std::string& expected,
                            const std::string& got) const {
    const std::string step = program_.name.empty() ? "" : step_text(program_.name) + ", ";
    throw RunError(step + feed + ": expected " + expected + ", got " + got);
  }

  void assign(const Feed& feed) {
    int input = feed.handle.index;
    if (feed.handle.executable || !feed.name.data()) {
      if (feed.handle.executable != &data_) {
        fail_at("a feed by handle", "a handle of this session's executable",
                feed.handle.executable ? "another's" : "an empty one");
      }
    } else {
      const auto at = std::find(state_.inputs.begin(), state_.inputs.end(), feed.name);
      input = at == state_.inputs.end() ? -1 : static_cast<int>(at - state_.inputs.begin());
    }
    const bool known = input >= 0 && static_cast<std::size_t>(input) < feed_of_.size();
    const int f = known ? feed_of_[static_cast<std::size_t>(input)] : -1;
    if (f < 0)
      fail(known ? state_.inputs[static_cast<std::size_t>(input)] : std::string(feed.name),
           "an input of this step, " + one_of(program_.feeds, &FeedRecord::name),
           "one that it does not read");
    const std::string& name = program_.feeds[static_cast<std::size_t>(f)].name;
    if (state_.fed[static_cast<std::size_t>(f)]) fail(name, "one feed", "two");
    if (feed.size < 0) fail(name, "a number of elements", std::to_string(feed.size));
    const DType dtype = buffer(static_cast<std::size_t>(f)).dtype;
    if (feed.dtype != dtype) fail(name, std::string(name_of(dtype)), std::string(name_of(feed.dtype)));
    state_.fed[static_cast<std::size_t>(f)] = &feed;
  }

  const BufferRecord& buffer(std::size_t f) const { return data_.buffers[program_.feeds[f].buffer]; }
  const Division& dim(std::size_t f, int d) const {
    return data_.dims[buffer(f).first_dim + static_cast<std::uint32_t>(d)].division;
  }

  void set_axis(std::size_t f, int axis, Index extent) {
    const Axis& of = data_.axes[static_cast<std::size_t>(axis)];
    Index& known = state_.run.axes[static_cast<std::size_t>(axis)];
    const std::string& name = program_.feeds[f].name;
    if (extent > of.extent) {
      fail(name, "at most " + std::to_string(of.extent) + " of axis '" + of.name + "'",
           std::to_string(extent));
    }
    if (known != kUnknown && known != extent) {
      fail(name, std::to_string(known) + " of axis '" + of.name + "'" + as_in_another(f, axis),
           std::to_string(extent));
    }
    known = extent;
  }

  void read_shape(std::size_t f) {
    const Shape& shape = *state_.fed[f]->shape;
    const std::string& name = program_.feeds[f].name;
    if (shape.rank() != buffer(f).rank) {
      fail(name, "a shape of rank " + std::to_string(buffer(f).rank), shape.text());
    }
    for (int d = 0; d < shape.rank(); ++d) {
      const Division& division = dim(f, d);
      if (division.axis >= 0) {
        set_axis(f, division.axis, shape[d]);
      } else if (shape[d] != division.extent) {
        fail(name, std::to_string(division.extent) + " in dimension " + std::to_string(d), shape.text());
      }
    }
    if (shape.size() != state_.fed[f]->size) {
      fail(name, std::to_string(shape.size()) + " elements for shape " + shape.text(),
           std::to_string(state_.fed[f]->size));
    }
  }

  // Where one axis of a flat buffer is unknown, its size says how long that is.
  void read_size(std::size_t f) {
    int unknown = -1, count = 0;
    Index known = 1;
    for (int d = 0; d < buffer(f).rank; ++d) {
      const Division& division = dim(f, d);
      if (division.axis < 0) {
        known *= division.extent;
      } else if (state_.run.axes[static_cast<std::size_t>(division.axis)] != kUnknown) {
        known *= state_.run.axes[static_cast<std::size_t>(division.axis)];
      } else {
        unknown = division.axis;
        ++count;
      }
    }
    if (count != 1 || known == 0) return;
    const Index size = state_.fed[f]->size;
    const Axis& axis = data_.axes[static_cast<std::size_t>(unknown)];
    const std::string& name = program_.feeds[f].name;
    const std::string each = std::to_string(known) + " for each of axis '" + axis.name + "'";
    if (size % known != 0)
      fail(name, "a number of elements that is a multiple of " + each, std::to_string(size));
    if (size / known > axis.extent) {
      fail(name, "at most " + std::to_string(known * axis.extent) + " elements, " + each,
           std::to_string(size));
    }
    set_axis(f, unknown, size / known);
  }

  void check_size(std::size_t f) const {
    Index expected = 1;
    for (int d = 0; d < buffer(f).rank; ++d) {
      const Division& division = dim(f, d);
      const Index extent =
          division.axis < 0 ? division.extent : state_.run.axes[static_cast<std::size_t>(division.axis)];
      if (extent == kUnknown) {
        if (state_.fed[f]->size == 0) return;  // nothing to copy, whatever the axis
        fail(program_.feeds[f].name, "a shape, since more than one axis is unknown",
             std::to_string(state_.fed[f]->size) + " elements");
      }
      expected *= extent;
    }
    if (expected != state_.fed[f]->size) {
      fail(program_.feeds[f].name, std::to_string(expected) + " elements" + axes_text(f),
           std::to_string(state_.fed[f]->size));
    }
  }

  // ", with axis 'batch' 4 as in input 'image' of 3136 elements": for the axes of a feed, which are known by
  // now.
  std::string axes_text(std::size_t f) const {
    std::string text;
    for (int d = 0; d < buffer(f).rank; ++d) {
      const int axis = dim(f, d).axis;
      if (axis < 0) continue;
      const auto a = static_cast<std::size_t>(axis);
      text += (text.empty() ? ", with axis '" : ", '") + data_.axes[a].name + "' " +
              std::to_string(state_.run.axes[a]) + as_in_another(f, axis);
    }
    return text;
  }

  // The feed that tells an axis which feed `f` contradicts.
  std::string as_in_another(std::size_t f, int axis) const {
    for (std::size_t other = 0; other < program_.feeds.size(); ++other) {
      for (int d = 0; other != f && d < buffer(other).rank; ++d) {
        if (dim(other, d).axis != axis) continue;
        return " as in input '" + program_.feeds[other].name + "' of " +
               std::to_string(state_.fed[other]->size) + " elements";
      }
    }
    return "";
  }

  // A result that is fed back lies in memory that these copies may overwrite: then all are read before any is
  // written.
  void place_all() const {
    const std::span<const std::byte> own = state_.run.dram.mapping();
    const auto is_own = [&](const Feed* feed) {
      const auto* data = static_cast<const std::byte*>(feed->data);
      return feed->size > 0 && std::less_equal<>()(own.data(), data) &&
             std::less<>()(data, own.data() + own.size());
    };
    const std::size_t count = program_.feeds.size();
    std::vector<std::vector<std::byte>> kept;
    if (std::any_of(state_.fed.begin(), state_.fed.begin() + static_cast<std::ptrdiff_t>(count), is_own)) {
      for (std::size_t f = 0; f < count; ++f) {
        const auto* data = static_cast<const std::byte*>(state_.fed[f]->data);
        kept.emplace_back(data, data + state_.fed[f]->size * size_of(buffer(f).dtype));
      }
    }
    for (std::size_t f = 0; f < count; ++f) {
      const bool lends = kept.empty() && can_lend(f);
      lend(f, lends ? state_.fed[f]->data : nullptr);
      if (!lends) copy(f, kept.empty() ? state_.fed[f]->data : kept[f].data());
    }
  }

  bool can_lend(std::size_t f) const {
    const Feed& feed = *state_.fed[f];
    const Index size = size_of(buffer(f).dtype);
    return lendable_[f] && feed.size * size >= kLargeFeed && !state_.has_gaps(program_.feeds[f].buffer) &&
           reinterpret_cast<std::uintptr_t>(feed.data) % static_cast<std::uintptr_t>(size) == 0;
  }

  // Null: it has a copy. (Inputs are not written.)
  void lend(std::size_t f, const void* data) const {
    std::byte*& lent = state_.run.lent[program_.feeds[f].buffer];
    if (lent == data) return;
    lent = static_cast<std::byte*>(const_cast<void*>(data));
    ++state_.run.lendings;
  }

  void copy(std::size_t f, const void* data) const {
    const Index size = state_.fed[f]->size * size_of(buffer(f).dtype);
    if (size == 0) return;
    if (!state_.has_gaps(program_.feeds[f].buffer)) {
      std::memcpy(state_.run.dram.data() + buffer(f).offset, data, static_cast<std::size_t>(size));
      return;
    }
    const BufferView view(data_, program_.feeds[f].buffer, Grid{data_.parts, 1}, Place{}, state_.run.axes);
    StridedBox dense;
    dense.data = static_cast<std::byte*>(const_cast<void*>(data));
    Index stride = 1;
    for (int d = buffer(f).rank - 1; d >= 0; --d) {
      dense.stride[static_cast<std::size_t>(d)] = stride;
      stride *= view.held().range[static_cast<std::size_t>(d)].size();
    }
    copy_box(view.held(), view.element_size(), dense, view.at(view.held(), state_.run.dram.data()));
  }

  SessionState& state_;
  const ExecutableData& data_;
  const ProgramRecord& program_;
  const std::vector<bool>& lendable_;
  const std::vector<int>& feed_of_;
};

}  // namespace

void SessionState::take_feeds(std::size_t program, std::span<const Feed> feeds) {
  FeedTaker(*this, program).run(feeds);
}

}  // namespace wafer::inline v0
