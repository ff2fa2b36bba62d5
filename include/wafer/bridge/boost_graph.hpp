// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/property_map/property_map.hpp>

#include <cstddef>
#include <iterator>
#include <utility>

/// Makes wafer::Graph a model of Boost.Graph's VertexListGraph, EdgeListGraph and BidirectionalGraph.
/// Vertices are nodes (ops, inputs, parameters, constants), numbered from 0; edges are operands, from the
/// node that produces a value to the node that reads it. Two operands from one producer are parallel edges.
/// Include this beside the algorithms you call.
namespace wafer::inline v0::bridge {

/// Counts through nodes or operand slots.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = std::uint32_t;
  using difference_type = std::ptrdiff_t;
  using pointer = const std::uint32_t*;
  using reference = std::uint32_t;
  CountingIterator() = default;
  explicit CountingIterator(std::uint32_t at) : at_(at) {}
  std::uint32_t operator*() const { return at_; }
  CountingIterator& operator++() {
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) { return CountingIterator(at_++); }
  friend bool operator==(CountingIterator a, CountingIterator b) { return a.at_ == b.at_; }

 private:
  std::uint32_t at_ = 0;
};

/// Walks the operands that read any value of one node.
class UseIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = std::uint32_t;
  using difference_type = std::ptrdiff_t;
  using pointer = const std::uint32_t*;
  using reference = std::uint32_t;
  UseIterator() = default;
  UseIterator(const GraphData& graph, NodeId node) : graph_(&graph), result_(0), node_(node) {
    skip_unused(kNone);
  }
  std::uint32_t operator*() const { return slot_; }
  UseIterator& operator++() {
    skip_unused(graph_->next_use[slot_]);
    return *this;
  }
  UseIterator operator++(int) {
    UseIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const UseIterator& a, const UseIterator& b) { return a.slot_ == b.slot_; }

 private:
  void skip_unused(std::uint32_t slot) {
    const Node& node = graph_->nodes[node_];
    while (slot == kNone && result_ < node.values)
      slot = graph_->values[node.first_value + result_++].first_use;
    slot_ = slot;
  }
  const GraphData* graph_ = nullptr;
  std::uint32_t result_ = 0;
  NodeId node_ = 0;
  std::uint32_t slot_ = kNone;
};

}  // namespace wafer::inline v0::bridge

namespace boost {

template <>
struct graph_traits<wafer::Graph> {
  using vertex_descriptor = wafer::NodeId;
  using edge_descriptor = std::uint32_t;
  using directed_category = bidirectional_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  struct traversal_category : vertex_list_graph_tag, edge_list_graph_tag, bidirectional_graph_tag {};
  using vertex_iterator = wafer::bridge::CountingIterator;
  using edge_iterator = wafer::bridge::CountingIterator;
  using in_edge_iterator = wafer::bridge::CountingIterator;
  using out_edge_iterator = wafer::bridge::UseIterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return wafer::kNone; }
};

template <>
struct property_map<wafer::Graph, vertex_index_t> {
  using type = typed_identity_property_map<wafer::NodeId>;
  using const_type = type;
};

}  // namespace boost

namespace wafer::inline v0 {

using BoostTraits = boost::graph_traits<Graph>;

inline boost::typed_identity_property_map<NodeId> get(boost::vertex_index_t, const Graph&) { return {}; }
inline std::size_t num_vertices(const Graph& g) { return g.data()->nodes.size(); }
inline std::size_t num_edges(const Graph& g) { return g.data()->inputs.size(); }
inline std::pair<bridge::CountingIterator, bridge::CountingIterator> vertices(const Graph& g) {
  return {bridge::CountingIterator(0), bridge::CountingIterator(static_cast<std::uint32_t>(num_vertices(g)))};
}
inline std::pair<bridge::CountingIterator, bridge::CountingIterator> edges(const Graph& g) {
  return {bridge::CountingIterator(0), bridge::CountingIterator(static_cast<std::uint32_t>(num_edges(g)))};
}
inline NodeId source(std::uint32_t edge, const Graph& g) {
  return g.data()->values[g.data()->inputs[edge]].node;
}
inline NodeId target(std::uint32_t edge, const Graph& g) { return g.data()->input_node[edge]; }
inline std::pair<bridge::CountingIterator, bridge::CountingIterator> in_edges(NodeId node, const Graph& g) {
  const Node& n = g.data()->nodes[node];
  return {bridge::CountingIterator(n.first_input), bridge::CountingIterator(n.first_input + n.inputs)};
}
inline std::size_t in_degree(NodeId node, const Graph& g) { return g.data()->nodes[node].inputs; }
inline std::pair<bridge::UseIterator, bridge::UseIterator> out_edges(NodeId node, const Graph& g) {
  return {bridge::UseIterator(*g.data(), node), bridge::UseIterator()};
}
inline std::size_t out_degree(NodeId node, const Graph& g) {
  const auto [first, last] = out_edges(node, g);
  return static_cast<std::size_t>(std::distance(first, last));
}
inline std::size_t degree(NodeId node, const Graph& g) { return in_degree(node, g) + out_degree(node, g); }

}  // namespace wafer::inline v0
