// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/io/safetensors.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <new>
#include <numeric>
#include <optional>

#include "io/file.hpp"

namespace wafer::inline v0 {
namespace io {
namespace {

static_assert(std::endian::native == std::endian::little, "the tensors of a file are little-endian");

/// The format's own limit, in bytes.
constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr Index kLargestIndex = std::numeric_limits<Index>::max();

/// For a message: at most 80 bytes, without control characters, since the text may come from a hostile file.
std::string in_quotes(std::string_view text) {
  std::string result(text.substr(0, 80));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return "'" + result + (text.size() > 80 ? "...'" : "'");
}

std::string text_of(std::span<const Index> shape) {
  std::string result = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == 8) return result + ", ...]";
    result += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  }
  return result + "]";
}

/// The format's name of a type.
constexpr std::string_view format_name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "F32";
    case DType::f64: return "F64";
    case DType::i32: return "I32";
    case DType::boolean: return "BOOL";
  }
  return "?";
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::boolean})
    if (name == format_name_of(dtype)) return dtype;
  return std::nullopt;
}

/// Says which file, and which tensor of it, is at fault.
class Fault {
 public:
  explicit Fault(const std::string& path) : prefix_("file '" + path + "': ") {}
  [[noreturn]] void fail(const std::string& what) const { throw UserError(prefix_ + what); }
  [[noreturn]] void fail(std::string_view tensor, const std::string& what) const {
    fail("tensor " + in_quotes(tensor) + ": " + what);
  }

 private:
  std::string prefix_;
};

/// Bytes of a tensor in checked arithmetic; none where a size is negative or the product leaves 63 bits.
std::optional<Index> bytes_of(const Entry& entry) {
  Index result = size_of(entry.dtype);
  for (const Index extent : entry.shape) {
    if (extent < 0 || (extent != 0 && result > kLargestIndex / extent)) return std::nullopt;
    result *= extent;
  }
  return result;
}

void check_bytes(const Entry& entry, Index got, const Fault& fault) {
  const std::optional<Index> expected = bytes_of(entry);
  const std::string type = std::string(format_name_of(entry.dtype)) + text_of(entry.shape);
  if (!expected) fault.fail(entry.name, "shape " + type + " is negative or beyond 2^63 - 1 bytes");
  if (got != *expected)
    fault.fail(entry.name, "expected " + std::to_string(*expected) + " bytes for " + type + ", got " +
                               std::to_string(got));
}

/// A bool with another value would be undefined behaviour in whoever reads it.
void check_values(const Entry& entry, const Fault& fault) {
  if (entry.dtype != DType::boolean) return;
  for (const std::byte value : entry.data)
    if (value > std::byte{1})
      fault.fail(entry.name, "expected bools 0 or 1, got " + std::to_string(std::to_integer<int>(value)));
}

std::vector<std::size_t> sorted_by_name(std::span<const Entry> entries, const Fault& fault) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto name = [&](std::size_t i) -> const std::string& { return entries[i].name; };
  std::ranges::sort(order, {}, name);
  const auto twice = std::ranges::adjacent_find(order, {}, name);
  if (twice != order.end()) fault.fail(name(*twice), "the name comes twice");
  return order;
}

void check_metadata(const Metadata& metadata, const Fault& fault) {
  std::vector<std::string_view> keys;
  for (const auto& item : metadata) keys.push_back(item.first);
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice != keys.end()) fault.fail("metadata key " + in_quotes(*twice) + " comes twice");
}

/// A tensor as the header describes it.
struct Described {
  Entry entry;
  std::vector<Index> offsets;  // begin and end within the data
};

/// Takes the header's JSON event by event and refuses what does not belong where it comes. So nothing nests
/// deeper than the format does, and a key that comes twice is seen (a parsed object would keep one of them).
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const Fault& fault) : fault_(fault) {}

  std::vector<Described> tensors;
  Metadata metadata;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::header;
    } else if (place_ == Place::header && key_ == kMetadataKey) {
      if (has_metadata_) fault_.fail("'__metadata__' comes twice");
      has_metadata_ = true;
      place_ = Place::metadata;
    } else if (place_ == Place::header) {
      tensors.emplace_back().entry.name = key_;
      seen_.clear();
      place_ = Place::tensor;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(std::string& key) override {
    key_ = key;
    if (place_ != Place::tensor) return true;
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      fault_.fail(name(), "expected dtype, shape and data_offsets, got " + in_quotes(key));
    if (std::ranges::find(seen_, key) != seen_.end()) fault_.fail(name(), key + " comes twice");
    seen_.push_back(key);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && seen_.size() < 3)
      fault_.fail(name(),
                  "expected dtype, shape and data_offsets, got " + std::to_string(seen_.size()) + " of them");
    place_ = place_ == Place::header ? Place::end : Place::header;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") refuse("an array");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    const std::size_t count = tensors.back().offsets.size();
    if (place_ == Place::offsets && count != 2)
      fault_.fail(name(), "expected 2 data_offsets, got " + std::to_string(count));
    place_ = Place::tensor;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      metadata.emplace_back(key_, value);
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") refuse("a string");
    const std::optional<DType> dtype = dtype_named(value);
    if (!dtype) fault_.fail(name(), "expected dtype F32, F64, I32 or BOOL, got " + in_quotes(value));
    tensors.back().entry.dtype = *dtype;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) refuse("a number");
    if (value > static_cast<std::uint64_t>(kLargestIndex)) refuse(std::to_string(value));
    auto& list = place_ == Place::shape ? tensors.back().entry.shape : tensors.back().offsets;
    list.push_back(static_cast<Index>(value));
    return true;
  }

  bool number_integer(std::int64_t value) override { return refuse(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return refuse(in_quotes(text)); }
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a bool"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    fault_.fail("expected a JSON header, got a fault at its byte " + std::to_string(position) + ": " +
                in_quotes(error.what()));
  }

 private:
  enum class Place { start, header, metadata, tensor, shape, offsets, end };

  const std::string& name() const { return tensors.back().entry.name; }

  [[noreturn]] bool refuse(const std::string& got) const {
    switch (place_) {
      case Place::metadata: fault_.fail("metadata " + in_quotes(key_) + ": expected a string, got " + got);
      case Place::tensor:
        fault_.fail(name(),
                    key_ + ": expected " + (key_ == "dtype" ? "a string" : "an array") + ", got " + got);
      case Place::shape:
      case Place::offsets: fault_.fail(name(), key_ + ": expected integers from 0 to 2^63 - 1, got " + got);
      case Place::header: fault_.fail(in_quotes(key_) + ": expected an object, got " + got);
      default: fault_.fail("expected one object as the header, got " + got);
    }
  }

  const Fault& fault_;
  Place place_ = Place::start;
  std::string key_;
  std::vector<std::string> seen_;  // fields of the current tensor
  bool has_metadata_ = false;
};

/// Reads length and text of the header.
std::string read_header(InputFile& file, const Fault& fault) {
  if (file.size() < 8)
    fault.fail("no safetensors file: expected at least 8 bytes, got " + std::to_string(file.size()));
  std::array<std::byte, 8> little_endian;
  file.read(little_endian);
  const auto length = std::bit_cast<std::uint64_t>(little_endian);
  const auto rest = static_cast<std::uint64_t>(file.size() - 8);
  if (length > kLargestHeader || length > rest)
    fault.fail("no safetensors file: expected a header of at most " +
               std::to_string(std::min(kLargestHeader, rest)) + " bytes, got " + std::to_string(length));
  std::string header(static_cast<std::size_t>(length), '\0');
  file.read(std::as_writable_bytes(std::span(header)));
  if (!header.starts_with('{'))
    fault.fail("no safetensors file: expected a JSON header that begins with '{'");
  // The parser would take a zero byte for the end and leave unread what follows.
  if (header.find('\0') != header.npos) fault.fail("expected a JSON header, got a zero byte in it");
  return header;
}

/// Sorts the tensors by where they lie, and holds that they tile the data without gap or overlap.
void check_layout(std::vector<Described>& tensors, Index data_bytes, const Fault& fault) {
  for (const auto& [entry, offsets] : tensors) {
    const std::string range = "data_offsets " + text_of(offsets);
    if (offsets[0] > offsets[1]) fault.fail(entry.name, range + " end before they begin");
    if (offsets[1] > data_bytes)
      fault.fail(entry.name,
                 range + " end beyond the file's " + std::to_string(data_bytes) + " bytes of data");
    check_bytes(entry, offsets[1] - offsets[0], fault);
  }
  std::ranges::stable_sort(tensors, {}, &Described::offsets);
  Index expected = 0;
  for (const auto& [entry, offsets] : tensors) {
    if (offsets[0] != expected)
      fault.fail(entry.name, "expected its data to begin at byte " + std::to_string(expected) + ", got " +
                                 std::to_string(offsets[0]) +
                                 (offsets[0] < expected ? " (an overlap)" : " (a hole before it)"));
    expected = offsets[1];
  }
  if (expected != data_bytes)
    fault.fail("expected " + std::to_string(expected) + " bytes of data, got " + std::to_string(data_bytes));
}

/// A JSON string; the text must be UTF-8.
std::string json_text(const std::string& text, const Fault& fault) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fault.fail(in_quotes(text) + " is not UTF-8");
  }
}

std::string header_of(std::span<const Entry> entries, const Metadata& metadata, const Fault& fault) {
  std::string header = "{";
  const auto separate = [&header] {
    if (header.back() != '{') header += ',';
  };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      separate();
      header += json_text(key, fault) + ':' + json_text(value, fault);
    }
    header += '}';
  }
  std::size_t begin = 0;
  for (const Entry& entry : entries) {
    separate();
    header += json_text(entry.name, fault) + ":{\"dtype\":\"" + std::string(format_name_of(entry.dtype)) +
              "\",\"shape\":[";
    for (std::size_t d = 0; d < entry.shape.size(); ++d)
      header += (d == 0 ? "" : ",") + std::to_string(entry.shape[d]);
    const std::size_t end = begin + entry.data.size();
    header += "],\"data_offsets\":[" + std::to_string(begin) + ',' + std::to_string(end) + "]}";
    begin = end;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > kLargestHeader)
    fault.fail("expected a header of at most " + std::to_string(kLargestHeader) + " bytes, got " +
               std::to_string(header.size()));
  return header;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const Fault fault(path);
  InputFile file(path);
  const std::string header = read_header(file, fault);
  HeaderReader reader(fault);
  nlohmann::json::sax_parse(header, &reader);
  check_metadata(reader.metadata, fault);
  metadata_ = std::move(reader.metadata);

  const Index data_bytes = file.size() - 8 - static_cast<Index>(header.size());
  // Names first: where one comes twice its ranges usually overlap too, and that would be the lesser hint.
  for (const Described& described : reader.tensors) entries_.push_back(described.entry);
  sorted_by_name(entries_, fault);
  check_layout(reader.tensors, data_bytes, fault);
  try {
    data_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(data_bytes));
  } catch (const std::bad_alloc&) {
    fault.fail("no memory for its " + std::to_string(data_bytes) + " bytes of data");
  }
  const std::span<std::byte> data(data_.get(), static_cast<std::size_t>(data_bytes));
  file.read(data);
  entries_.clear();
  for (Described& described : reader.tensors) {
    Entry& entry = entries_.emplace_back(std::move(described.entry));
    const auto begin = static_cast<std::size_t>(described.offsets[0]);
    entry.data = data.subspan(begin, static_cast<std::size_t>(described.offsets[1]) - begin);
    check_values(entry, fault);
  }
  by_name_ = sorted_by_name(entries_, fault);
}

const Entry* SafetensorsFile::find(std::string_view name) const& {
  const auto name_at = [this](std::size_t i) -> std::string_view { return entries_[i].name; };
  const auto it = std::ranges::lower_bound(by_name_, name, {}, name_at);
  return it != by_name_.end() && name_at(*it) == name ? &entries_[*it] : nullptr;
}

void write_safetensors(const std::string& path, std::span<const Entry> entries, const Metadata& metadata) {
  const Fault fault(path);
  sorted_by_name(entries, fault);
  check_metadata(metadata, fault);
  for (const Entry& entry : entries) {
    if (entry.name == kMetadataKey) fault.fail(entry.name, "the name is reserved by the format");
    check_bytes(entry, static_cast<Index>(entry.data.size()), fault);
    check_values(entry, fault);
  }
  const std::string header = header_of(entries, metadata, fault);
  const auto length = std::bit_cast<std::array<std::byte, 8>>(static_cast<std::uint64_t>(header.size()));
  std::vector<std::span<const std::byte>> pieces{length, std::as_bytes(std::span(header))};
  for (const Entry& entry : entries) pieces.push_back(entry.data);
  replace_file(path, pieces);
}

}  // namespace io
}  // namespace wafer::inline v0
