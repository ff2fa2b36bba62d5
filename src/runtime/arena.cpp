// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena.hpp"

#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace wafer::inline v0 {

namespace {
constexpr Index kAlignment = 64;
}

Arena::Arena(Index bytes) {
  if (bytes == 0) return;
  const Index page = static_cast<Index>(sysconf(_SC_PAGESIZE));
  const Index planned = round_up(bytes, kAlignment);
  const Index pages = round_up(planned, page);
  void* memory = mmap(nullptr, static_cast<std::size_t>(pages + page), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw RunError("session: expected " + std::to_string(bytes) +
                   " bytes of memory for an arena, got none from the system");
  }
  mapping_ = static_cast<std::byte*>(memory);
  mapping_bytes_ = static_cast<std::size_t>(pages);
  data_ = mapping_ + (pages - planned);
  mprotect(mapping_ + pages, static_cast<std::size_t>(page), PROT_NONE);
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

Arena::~Arena() {
  if (mapping_) munmap(mapping_, mapping_bytes_ + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

}  // namespace wafer::inline v0
