// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/nn/linear.hpp>
#include <wafer/nn/residual.hpp>
#include <wafer/nn/sequential.hpp>
