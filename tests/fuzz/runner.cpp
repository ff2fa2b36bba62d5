// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include "checks.hpp"
#include "compiler/stages.hpp"
#include "generator.hpp"
#include "plans.hpp"

#include <wafer/error.hpp>
#include <wafer/runtime/session.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

namespace fuzz {

using namespace wafer;
using testing::Array;
using testing::Interpreter;

namespace {

// A message without its numbers, so that alike ones count together.
std::string kind_of(const std::string& message) {
  std::string out;
  for (char c : message) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && (out.empty() || out.back() != '#')) out += '#';
  }
  return out;
}

// One graph, its plan, and steps that are held against the interpreter.
class Run {
 public:
  Run(const Generated& made, const RandomPlan& plan, Random& random, Counts& counts)
      : made_(made),
        plan_(plan),
        random_(random),
        counts_(counts),
        executable_(
            compile_with(made.requests, plan.fabric, Options{.threads = plan.choices.workers}, plan.choices)),
        stages_(static_cast<const Stages&>(*executable_.data()->plan)) {}

  const Executable& executable() const { return executable_; }

  std::string steps() {
    Session session(executable_, {.threads = plan_.threads, .seed = 7});
    if (made_.batch) extent_ = made_.batch->extent;
    for (Index round = 0; round < 3; ++round) {
      for (std::size_t p = 0; p < stages_.step.programs.size(); ++p) {
        std::string wrong = step(session, stages_.step.programs[p], round == 0);
        if (!wrong.empty()) {
          return "step '" + stages_.step.programs[p].name + "', round " + std::to_string(round) +
                 ", batch of " + std::to_string(extent_) + ": " + wrong;
        }
      }
      if (made_.batch)
        extent_ = random_.chance(0.5) ? made_.batch->extent : random_.between(0, made_.batch->extent);
    }
    return "";
  }

 private:
  static Tensor in(const std::shared_ptr<GraphData>& graph, ValueId value) { return {graph, value}; }

  // The run-time shape of an input.
  Array random_values(const Interpreter& interpreter, const InputSpec& input) {
    Array array(interpreter.type_of(input.tensor));
    if (input.classes > 0) {
      for (std::int32_t& v : array.values<std::int32_t>())
        v = static_cast<std::int32_t>(random_.below(input.classes));
    } else {
      for (float& v : array.values<float>()) v = static_cast<float>(random_.uniform(-1, 1));
    }
    return array;
  }

  bool reads(const Program& program, const InputSpec& input) const {
    return std::find(program.sources.begin(), program.sources.end(), input.tensor.value()) !=
           program.sources.end();
  }

  std::string step(Session& session, const Program& program, bool against_f64) {
    const std::shared_ptr<GraphData>& graph = stages_.step.graph;
    Interpreter interpreter(Graph(graph), {.seed = 7, .step = session.steps() + 1});
    // A step that is fed nothing with a batch runs on the greatest extent.
    const Index extent = program.batch_axis >= 0 || !made_.batch ? extent_ : made_.batch->extent;
    if (made_.batch) interpreter.set_extent(*made_.batch, extent);
    for (const VariableInfo& variable : graph->variables) {
      const auto known = std::find_if(variables_.begin(), variables_.end(),
                                      [&](const auto& v) { return v.first == variable.value; });
      if (known != variables_.end()) interpreter.set(in(graph, variable.value), known->second);
    }
    std::deque<Array> arrays;  // feeds are views
    std::vector<Feed> feeds;
    for (const InputSpec& input : made_.inputs) {
      if (!reads(program, input)) continue;
      Array& array = arrays.emplace_back(random_values(interpreter, input));
      interpreter.set(in(graph, input.tensor.value()), array);
      if (input.classes > 0) {
        feeds.emplace_back(input.name, std::span<const std::int32_t>(array.values<std::int32_t>()),
                           array.shape());
      } else {
        feeds.emplace_back(input.name, std::span<const float>(array.values<float>()), array.shape());
      }
    }
    const Result result = session.step(program.name, feeds);
    std::string wrong;
    if (against_f64) {
      const RunTime run_time{{extent}, interpreter_step(session, program)};
      wrong = check_against_f64(graph, program, interpreter, run_time, counts_);
    }
    if (wrong.empty()) wrong = compare_fetches(result, program, interpreter);
    if (wrong.empty()) wrong = compare_variables(session, program, interpreter);
    return wrong;
  }

  // Steps are counted where they train.
  static Index interpreter_step(const Session& session, const Program& program) {
    return session.steps() + (program.assignments.empty() ? 1 : 0);
  }

  std::string compare_fetches(const Result& result, const Program& program, Interpreter& interpreter) {
    for (const Program::Fetch& fetch : program.fetches) {
      const Array& expected = interpreter.value(in(stages_.step.graph, fetch.value));
      const FetchedTensor got = result[fetch.name];
      const std::string wrong = first_difference(expected, data_of(got), got.type());
      if (!wrong.empty())
        return "fetch '" + fetch.name + "' of " +
               stages_.step.graph->where(stages_.step.graph->values[fetch.value].node) + " " + wrong;
      ++counts_.compared;
    }
    return "";
  }

  static const void* data_of(const FetchedTensor& t) {
    switch (t.type().dtype) {
      case DType::f32: return t.values<float>().data();
      case DType::f64: return t.values<double>().data();
      case DType::i32: return t.values<std::int32_t>().data();
      case DType::boolean: return t.values<bool>().data();
    }
    return nullptr;
  }

  // New values of all variables, which later steps start from.
  std::string compare_variables(const Session& session, const Program& program, Interpreter& interpreter) {
    for (const Program::Assignment& a : program.assignments) {
      const Array& expected = interpreter.value(in(stages_.step.graph, a.value));
      const Node& node = stages_.step.graph->nodes[stages_.step.graph->values[a.variable].node];
      const std::string& path = stages_.step.graph->variables[node.source].path;
      const std::vector<float> got = session.get(path);
      const std::string wrong = first_difference(expected, got.data(), expected.type());
      if (!wrong.empty()) return "variable '" + path + "' " + wrong;
      ++counts_.compared;
      std::erase_if(variables_, [&](const auto& v) { return v.first == a.variable; });
      variables_.emplace_back(a.variable, expected);
    }
    return "";
  }

  const Generated& made_;
  const RandomPlan& plan_;
  Random& random_;
  Counts& counts_;
  Executable executable_;
  const Stages& stages_;
  Index extent_ = 1;  // of the batch
  std::vector<std::pair<ValueId, Array>> variables_;
};

std::string reproduce(std::uint64_t seed, std::uint64_t number, const RandomPlan& plan) {
  return "graph " + std::to_string(number) + " of seed " + std::to_string(seed) + ": " + plan.text() + "\n";
}

std::string dump(const Plan& plan) {
  std::string out;
  for (const char* stage : {"step", "partition", "communication", "schedule", "memory"})
    out += std::string(stage) + ":\n" + plan.dump(stage);
  return out;
}

}  // namespace

Outcome run_graph(std::uint64_t seed, std::uint64_t number, bool verbose, Counts& counts) {
  Random random(seed, number);
  RandomPlan plan;
  Generated made;
  ++counts.graphs;
  try {
    try {
      generate(random, made);
    } catch (const UserError& error) {
      // A reshape cannot tell a named axis of one index from another dimension of 1, so gradients may not
      // fit.
      if (!made.batch || made.batch->extent != 1) throw;
      ++counts.refused["gradients with a named axis of greatest extent 1"];
      return {false, verbose ? text_of(made.graph) + error.what() + "\n" : ""};
    }
    plan = random_plan(made, random);
    std::optional<Run> run;
    try {
      run.emplace(made, plan, random, counts);
    } catch (const CompileError& error) {
      ++counts.refused[kind_of(error.what())];
      return {false,
              verbose ? reproduce(seed, number, plan) + text_of(made.graph) + error.what() + "\n" : ""};
    }
    count_plan(run->executable(), counts);
    counts.gradients += made.gradients ? 1 : 0;
    counts.trained += made.requests[0].request.loss ? 1 : 0;
    const std::string wrong = run->steps();
    if (wrong.empty() && !verbose) return {};
    return {!wrong.empty(), reproduce(seed, number, plan) + text_of(made.graph) +
                                dump(run->executable().plan()) + wrong + "\n"};
  } catch (const std::exception& error) {
    return {true, reproduce(seed, number, plan) + text_of(made.graph) + error.what() + "\n"};
  }
}

}  // namespace fuzz
