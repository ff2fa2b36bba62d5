// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph_algorithms.hpp"

// GCC 12 sees Boost's optional iterators as uninitialised once they are inlined here.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <wafer/bridge/boost_graph.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>

#include <memory>

namespace wafer::inline v0::algorithms {

namespace {

struct FinishOrder : boost::default_dfs_visitor {
  explicit FinishOrder(std::vector<NodeId>& out) : order(&out) {}
  template <class G>
  void finish_vertex(NodeId node, const G&) {
    order->push_back(node);
  }
  std::vector<NodeId>* order;
};

}  // namespace

std::vector<NodeId> depends_on(const GraphData& graph, std::span<const NodeId> roots) {
  // Boost's visit keeps its own stack, so that a chain of any length is fine.
  const Graph shared(
      std::shared_ptr<GraphData>(std::shared_ptr<GraphData>(), const_cast<GraphData*>(&graph)));
  const auto reversed = boost::make_reverse_graph(shared);
  std::vector<boost::default_color_type> colors(graph.nodes.size(), boost::white_color);
  const auto color =
      boost::make_iterator_property_map(colors.begin(), boost::typed_identity_property_map<NodeId>());
  std::vector<NodeId> order;
  for (NodeId root : roots) {
    if (colors[root] == boost::white_color)
      boost::depth_first_visit(reversed, root, FinishOrder(order), color);
  }
  return order;
}

std::vector<std::uint32_t> components(std::size_t vertices,
                                      const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  const Undirected graph(edges.begin(), edges.end(), vertices);
  std::vector<std::uint32_t> component(vertices, 0);
  if (vertices > 0) boost::connected_components(graph, component.data());
  return component;
}

std::vector<bool> minimum_cut(std::size_t vertices, const std::vector<Arc>& arcs) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Edge = Traits::edge_descriptor;
  using EdgeProperties = boost::property<boost::edge_capacity_t, std::int64_t,
                                         boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                                         boost::property<boost::edge_reverse_t, Edge>>>;
  using VertexProperties =
      boost::property<boost::vertex_index_t, std::size_t,
                      boost::property<boost::vertex_color_t, boost::default_color_type,
                                      boost::property<boost::vertex_distance_t, long,
                                                      boost::property<boost::vertex_predecessor_t, Edge>>>>;
  using Flow =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexProperties, EdgeProperties>;
  Flow flow(vertices);
  const auto capacity = get(boost::edge_capacity, flow);
  const auto reverse = get(boost::edge_reverse, flow);
  for (const Arc& arc : arcs) {
    const Edge forth = add_edge(arc.from, arc.to, flow).first, back = add_edge(arc.to, arc.from, flow).first;
    capacity[forth] = arc.capacity;
    capacity[back] = 0;
    reverse[forth] = back;
    reverse[back] = forth;
  }
  boost::boykov_kolmogorov_max_flow(flow, vertex(0, flow), vertex(1, flow));
  // What the search tree of the source still reaches lies on its side; ties go to the other side.
  const auto color = get(boost::vertex_color, flow);
  std::vector<bool> side(vertices);
  for (std::size_t v = 0; v < vertices; ++v) side[v] = color[v] == color[0];
  return side;
}

}  // namespace wafer::inline v0::algorithms
