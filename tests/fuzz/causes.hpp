// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/error.hpp>

#include <string>

namespace fuzz {

/// Why a random op may be refused, in a few words. An error that is none of the known ones is thrown again:
/// it is a fault.
std::string cause_of(const wafer::UserError& error);
/// Why hints may be.
std::string cause_of(const wafer::CompileError& error);

}  // namespace fuzz
