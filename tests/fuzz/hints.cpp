// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "hints.hpp"

#include "cuttable.hpp"

#include <algorithm>

namespace fuzz {

using namespace wafer;

namespace {

struct Dimension {
  ValueId value;
  int dim;
};

int axis_of(const GraphData& graph, const Dimension& of) {
  return graph.values[of.value].axes[static_cast<std::size_t>(of.dim)];
}

// All dimensions of the values that the user made.
std::vector<Dimension> dimensions(const Generated& made) {
  std::vector<Dimension> out;
  const GraphData& graph = *made.graph.data();
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    for (int d = 0; d < graph.values[v].type.shape.rank(); ++d) out.push_back({v, d});
  }
  return out;
}

class Drawer {
 public:
  Drawer(const Generated& made, const Step& step, const Fabric& fabric, Random& random)
      : graph_(*made.graph.data()),
        step_(step),
        fabric_(fabric),
        random_(random),
        dimensions_(dimensions(made)),
        factors_(analyse_factors(step, true)) {}

  Hints any() {
    Hints out;
    for (Index n = random_.between(1, 2); n > 0 && !dimensions_.empty(); --n)
      out.all.push_back(hint(random_.pick(dimensions_), random_direction()));
    return out;
  }

  Hints that_can_be_met(Index micro_batches) {
    Hints out;
    out.can_be_met = true;
    Mesh direction = random_direction();
    if (blocks(fabric_, direction) < 2) direction = other(direction);
    const Index which = random_.below(6);  // 0: the batch, 1: a feature, else both where that can be
    if (which != 1) add_batch(out, direction, micro_batches);
    if (which != 0) add_feature(out, which == 1 ? direction : other(direction));
    if (out.all.size() == 2 && random_.chance(0.5)) std::swap(out.all[0], out.all[1]);
    return out;
  }

 private:
  Mesh random_direction() { return random_.chance(0.5) ? Mesh::rows : Mesh::columns; }

  Hint hint(const Dimension& of, Mesh direction) {
    Hint out{of.value, of.dim, direction};
    // An axis means the first dimension that follows it.
    const int axis = axis_of(graph_, of);
    out.by_axis = axis >= 0 && random_.chance(0.5);
    for (int d = 0; d < of.dim; ++d) out.by_axis = out.by_axis && axis_of(graph_, {of.value, d}) != axis;
    out.from_end = random_.chance(0.5);
    return out;
  }

  template <class Wanted>
  void add(Hints& out, Mesh direction, const Wanted& wanted) {
    if (blocks(fabric_, direction) < 2) return;
    std::vector<Dimension> of;
    std::copy_if(dimensions_.begin(), dimensions_.end(), std::back_inserter(of), wanted);
    if (!of.empty()) out.all.push_back(hint(random_.pick(of), direction));
  }

  void add_batch(Hints& out, Mesh direction, Index micro_batches) {
    const int batch = batch_of(step_);
    if (batch < 0 || step_.graph->axes[static_cast<std::size_t>(batch)].extent / micro_batches < 2) return;
    add(out, direction, [&](const Dimension& of) { return axis_of(graph_, of) == batch; });
  }

  void add_feature(Hints& out, Mesh direction) {
    const std::vector<FactorClass> classes = feature_classes(step_, factors_);
    if (classes.empty()) return;
    const FactorClass& of = random_.pick(classes);
    const std::uint32_t cls = factors_.class_of(of.value, of.dim);
    add(out, direction, [&](const Dimension& d) { return factors_.class_of(d.value, d.dim) == cls; });
  }

  const GraphData& graph_;
  const Step& step_;
  const Fabric& fabric_;
  Random& random_;
  const std::vector<Dimension> dimensions_;
  const StepFactors factors_;
};

}  // namespace

std::string Hints::text() const {
  std::string out;
  for (const Hint& hint : all) {
    out += ", hint v" + std::to_string(hint.value) + " dimension " + std::to_string(hint.dim) +
           (hint.direction == Mesh::rows ? " over rows" : " over columns");
  }
  return out;
}

Hints random_hints(const Generated& made, const Step& step, const Fabric& fabric, Index micro_batches,
                   Random& random) {
  Drawer drawer(made, step, fabric, random);
  return random.chance(0.8) ? drawer.that_can_be_met(micro_batches) : drawer.any();
}

void give(const Hints& hints, const Graph& graph) {
  for (const Hint& hint : hints.all) {
    const Tensor tensor(graph.data(), hint.value);
    if (hint.by_axis) {
      const int axis = axis_of(*graph.data(), {hint.value, hint.dim});
      tensor.split(graph.data()->axes[static_cast<std::size_t>(axis)], hint.direction);
    } else {
      tensor.split(hint.from_end ? hint.dim - tensor.rank() : hint.dim, hint.direction);
    }
  }
}

std::string unmet(const Hints& hints, const Stages& stages) {
  const Choices& choices = stages.partition.choices;
  const auto follows = [](const Choices::Cut& cut, const Hint& hint) {
    return cut.active && cut.direction == hint.direction && cut.parts >= 2;
  };
  for (const Hint& hint : hints.all) {
    const int axis = axis_of(*stages.step.graph, {hint.value, hint.dim});
    const bool batch = is_batch(stages.step, axis);
    const bool feature = stages.factors.class_of(hint.value, hint.dim) == stages.partition.feature_class;
    if (batch && follows(choices.batch, hint)) continue;
    if (feature && follows(choices.feature, hint)) continue;
    return Hints{{hint}, false}.text() + " is not followed";
  }
  return "";
}

}  // namespace fuzz
