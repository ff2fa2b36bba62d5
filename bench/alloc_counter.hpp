// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of the process's allocator, and counts. To be included by one source of a program.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

extern "C" {
// glibc's own, under the names that it keeps for those who replace the others.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace alloc_counter {

inline std::atomic<bool> counting{false};
inline std::atomic<long> events{0};

inline void note() {
  if (counting.load(std::memory_order_relaxed)) events.fetch_add(1, std::memory_order_relaxed);
}
inline void start() {
  events.store(0);
  counting.store(true);
}
/// Allocations and releases since `start`, on all threads.
inline long stop() {
  counting.store(false);
  return events.load();
}

/// Whether oneTBB found its allocator, which would not be counted.
inline bool tbb_has_its_own() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libtbbmalloc") != std::string::npos) return true;
  }
  return false;
}

}  // namespace alloc_counter

// operator new and delete of libstdc++ call these.
extern "C" {

void* malloc(std::size_t bytes) {
  alloc_counter::note();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  alloc_counter::note();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  alloc_counter::note();
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  alloc_counter::note();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  alloc_counter::note();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  alloc_counter::note();
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void* memory) {
  if (memory) alloc_counter::note();
  __libc_free(memory);
}
// The loader has its own.
void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  alloc_counter::note();
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
// oneTBB looks for libtbbmalloc by itself, and takes malloc where there is none.
void* dlopen(const char* file, int flags) noexcept {
  if (file && std::strstr(file, "tbbmalloc")) return nullptr;
  using Open = void* (*)(const char*, int);
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  return next(file, flags);
}

}  // extern "C"
