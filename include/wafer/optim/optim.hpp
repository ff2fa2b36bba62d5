// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/optim/adamw.hpp>
#include <wafer/optim/clip.hpp>
#include <wafer/optim/optimizer.hpp>
#include <wafer/optim/request.hpp>
#include <wafer/optim/schedule.hpp>
#include <wafer/optim/sgd.hpp>
