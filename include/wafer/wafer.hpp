// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that a program needs to describe, compile and train a model.
#include <wafer/config.hpp>
#include <wafer/error.hpp>

#include <wafer/graph/graph.hpp>
#include <wafer/nn/nn.hpp>
#include <wafer/ops.hpp>
#include <wafer/optim/optim.hpp>

#include <wafer/data/idx.hpp>
#include <wafer/data/loader.hpp>

#include <wafer/compiler/compile.hpp>
#include <wafer/fabric/fabric.hpp>
#include <wafer/runtime/session.hpp>
