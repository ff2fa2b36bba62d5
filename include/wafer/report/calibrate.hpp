// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/target.hpp>
#include <wafer/fabric/fabric.hpp>

namespace wafer::inline v0 {

/// The fabric of a host with rates and times as measured now on this machine, by small steps of its own: of
/// products, of data within and beyond fast memory, of starting an op, and of handing over between two
/// threads. Takes about half a second of both CPUs, which should be free of other work: beside it, the rates
/// may come out at half of what they are. Plans made for it predict the time of their steps, and are chosen
/// by what the machine can do; results do not depend on it. Throws UserError unless the fabric is a host, and
/// CompileError for a target that the CPU lacks.
Fabric calibrate(const Fabric& host = Fabric::host(), KernelTarget target = KernelTarget::automatic);

}  // namespace wafer::inline v0
