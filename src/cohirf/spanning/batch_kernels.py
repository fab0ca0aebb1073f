"""Compiled loops for the rows of one batch: nearest rows, and the minimum spanning tree of mutual
reachability.

Nearest rows: the rows of a leaf of the tree of boxes search together, and one walk through the tree
serves all of them.

Spanning tree, by Boruvka's rounds: in each round, each component finds its lightest edge to another
component. Most edges are found in the lists of nearest neighbours. A row needs a walk through the
tree only if a row outside its list could be joined by a lighter edge than the lightest one that its
component has found so far. All distances are squared.

Many edges have the same weight: the core distance of a row that they share. The shorter one of two
such edges counts as the lighter one. So the tree is unique, unless distances are equal, too, and it
does not depend on the batches.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.rows.threads import map_in_threads
from cohirf.spanning.box_tree import SEVERAL, flatten, gap2, point_gap2, root
from cohirf.spanning.policy import LISTS, TREE

# Of more neighbours, those of a row are a heap while they are looked for: to insert one into a
# sorted list takes time in proportion to its length. Here, because it is compiled.
LONGEST_SORTED = 64


def find_neighbours(tree: Any, columns: Any, k: Any) -> Any:
    """Return the ``k`` nearest positions of each position, nearest first, and their squared
    distances.

    A position is its own neighbour. ``columns`` has a line for each feature of ``tree.points``.
    """
    positions = np.arange(len(tree.points), dtype=np.int32)
    # never empty, even if distances overflow
    neighbours = np.repeat(positions.reshape(-1, 1), k, axis=1)
    distances2 = np.full((len(tree.points), k), np.inf)
    n_nodes = len(tree.starts)
    largest = _count_in_largest_leaf(tree)
    # A step writes to the lists of its own rows, so that steps can run at the same time. Signals,
    # such as Ctrl-C, are seen between two.
    step = max(1, LISTS.rows_in_step * n_nodes // len(tree.points))

    def search(first: int) -> None:
        nodes = (first, min(first + step, n_nodes))
        _search_leaves(tree, columns, nodes, neighbours, distances2, np.empty(largest))

    map_in_threads(search, range(0, n_nodes, step))
    return neighbours, distances2


def _count_in_largest_leaf(tree: Any) -> int:
    """Return the number of rows of the largest leaf: many equal rows are one leaf."""
    return int((tree.ends - tree.starts)[tree.children == 0].max())


@njit(cache=True, nogil=True)
def _search_leaves(
    tree: Any, columns: Any, nodes: Any, neighbours: Any, distances2: Any, room: Any
) -> None:
    """Find the nearest positions of each position in some nodes that are leaves."""
    for node in range(nodes[0], nodes[1]):
        if tree.children[node] == 0:
            _search_leaf(tree, columns, node, neighbours, distances2, room)
            if _is_heap(distances2):
                for i in range(tree.starts[node], tree.ends[node]):
                    _sort_heap(neighbours[i], distances2[i])


@njit(cache=True, nogil=True)
def _is_heap(distances2: Any) -> Any:
    """Return whether lists are so long that they are heaps until a leaf is searched.

    The farthest neighbour is then the first one.
    """
    return distances2.shape[1] > LONGEST_SORTED


@njit(cache=True, nogil=True)
def _search_leaf(
    tree: Any, columns: Any, leaf: Any, neighbours: Any, distances2: Any, room: Any
) -> None:
    """Find the nearest positions of each position in a leaf."""
    farthest = np.inf
    stack = [(0.0, 0)]
    while len(stack) > 0:
        gap, node = stack.pop()
        if gap >= farthest:
            continue
        if tree.children[node] == 0:
            farthest = _compare_leaves(tree, columns, leaf, node, neighbours, distances2, room)
        else:
            _push_children(tree, leaf, node, stack)


@njit(cache=True, nogil=True)
def _push_children(tree: Any, leaf: Any, node: Any, stack: Any) -> None:
    """Push the children of a node with their gaps from a leaf, such that the nearer one is popped
    first.
    """
    one = tree.children[node]
    two = tree.children[node] + 1
    one_gap = gap2(tree.boxes, leaf, one)
    two_gap = gap2(tree.boxes, leaf, two)
    if one_gap < two_gap:
        one, two, one_gap, two_gap = two, one, two_gap, one_gap
    stack.append((one_gap, one))
    stack.append((two_gap, two))


@njit(cache=True, nogil=True)
def _compare_leaves(
    tree: Any, columns: Any, leaf: Any, other: Any, neighbours: Any, distances2: Any, room: Any
) -> Any:
    """Compare the rows of two leaves.

    Return the largest distance from a row of the first one to its last neighbour.
    """
    is_heap = _is_heap(distances2)
    last = 0 if is_heap else distances2.shape[1] - 1
    farthest = 0.0
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        if point_gap2(tree.points[i], tree.boxes, other) < distances2[i, last]:
            _measure_to_leaf(tree, columns, tree.points[i], other, room)
            for place in range(tree.ends[other] - tree.starts[other]):
                if room[place] < distances2[i, last]:
                    found = tree.starts[other] + place
                    if is_heap:
                        _replace_farthest(neighbours[i], distances2[i], found, room[place])
                    else:
                        insert_neighbour(neighbours[i], distances2[i], found, room[place])
        farthest = max(farthest, distances2[i, last])
    return farthest


@njit(cache=True, nogil=True)
def _measure_to_leaf(tree: Any, columns: Any, x: Any, leaf: Any, room: Any) -> None:
    """Write the squared distances of a point from the rows of a leaf.

    The inner loop runs over rows, and is compiled to vector instructions. The sum of each distance
    is in the order of the features, whatever the leaf: a pair of rows has the same distance in each
    batch.
    """
    start = tree.starts[leaf]
    end = tree.ends[leaf]
    room[: end - start] = 0.0
    for j in range(len(x)):
        column = columns[j, start:end]
        for place in range(end - start):
            room[place] += (x[j] - column[place]) * (x[j] - column[place])


@njit(cache=True, nogil=True)
def insert_neighbour(neighbours: Any, distances2: Any, neighbour: Any, distance2: Any) -> None:
    """Insert a neighbour into a sorted list, whose last one drops out."""
    place = len(distances2) - 1
    while place > 0 and distances2[place - 1] > distance2:
        neighbours[place], distances2[place] = neighbours[place - 1], distances2[place - 1]
        place -= 1
    neighbours[place], distances2[place] = neighbour, distance2


@njit(cache=True, nogil=True)
def _replace_farthest(neighbours: Any, distances2: Any, neighbour: Any, distance2: Any) -> None:
    """Replace the first neighbour of a heap, which is the farthest one."""
    k = len(distances2)
    place = 0
    while 2 * place + 1 < k:
        child = 2 * place + 1
        if child + 1 < k and distances2[child + 1] > distances2[child]:
            child += 1
        if distances2[child] <= distance2:
            break
        neighbours[place], distances2[place] = neighbours[child], distances2[child]
        place = child
    neighbours[place], distances2[place] = neighbour, distance2


@njit(cache=True, nogil=True)
def _sort_heap(neighbours: Any, distances2: Any) -> None:
    """Sort the neighbours of a heap by their distances."""
    for end in range(len(distances2) - 1, 0, -1):
        neighbour, distance2 = neighbours[end], distances2[end]
        neighbours[end], distances2[end] = neighbours[0], distances2[0]
        _replace_farthest(neighbours[:end], distances2[:end], neighbour, distance2)


class Lightest(NamedTuple):
    """The lightest edge that leaves each component, found so far.

    A component is named by its root.
    """

    weights: Any
    lengths: Any
    inside: Any  # position inside the component
    outside: Any


def spanning_edges(
    tree: Any, columns: Any, core: Any, neighbours: Any, distances2: Any, parents: Any
) -> Any:
    """Return the lightest edges that connect all components: pairs of positions, and squared
    lengths.

    ``core`` has the squared core distance of each position, and ``parents`` is the forest of
    components to begin with, as :func:`root` reads it.
    """
    node_core = _lowest_in_nodes(tree, core)
    largest = _count_in_largest_leaf(tree)
    reach = np.ascontiguousarray(distances2[:, -1])
    blocks = _cut_leaves(tree)

    def search(components: Any, lightest: Any) -> None:
        search_lists(core, neighbours, distances2, components, lightest)
        node_components = _components_of_nodes(tree, components)

        def search_block(leaves: Any) -> Any:
            known = (core, node_core, reach, components, node_components)
            return _search_tree(tree, columns, leaves, known, lightest, np.empty(largest))

        # blocks do not see what others find, so that it does not matter which come first
        for names, found in map_in_threads(search_block, blocks):
            _offer_all(names, found, lightest)

    return join_in_rounds(search, parents)


def _cut_leaves(tree: Any) -> list[Any]:
    """Return the leaves in the order of their rows, in blocks, of which none is empty."""
    leaves = np.flatnonzero(tree.children == 0)
    leaves = leaves[np.argsort(tree.starts[leaves])]
    n_rows = len(tree.points)
    n_blocks = max(1, min(TREE.most_blocks, n_rows // TREE.fewest_searched))
    bounds = np.arange(1, n_blocks) * n_rows // n_blocks
    blocks = np.split(leaves, np.searchsorted(tree.starts[leaves], bounds))
    return [block for block in blocks if len(block)]  # equal rows may be a leaf of several blocks


def join_in_rounds(search: Any, parents: Any) -> Any:
    """Join components by the lightest edges that a search finds, until it finds no more."""
    n = len(parents)
    pairs = np.empty((n - 1, 2), dtype=np.int32)
    lengths = np.empty(n - 1)
    n_pairs = 0
    n_before = -1
    lightest = Lightest(
        np.empty(n), np.empty(n), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    )
    while n_pairs > n_before:
        components = flatten(parents)
        n_before = n_pairs
        lightest.weights[:] = np.inf
        search(components, lightest)
        n_pairs = _join_components(components, lightest, parents, pairs, lengths, n_pairs)
    return pairs[:n_pairs], lengths[:n_pairs]


@njit(cache=True, nogil=True)
def _is_lighter(weight: Any, length: Any, lightest: Any, component: Any) -> Any:
    """Return whether an edge is lighter than the lightest one of a component so far."""
    if weight == lightest.weights[component]:
        return length < lightest.lengths[component]
    return weight < lightest.weights[component]


@njit(cache=True, nogil=True)
def offer(lightest: Any, component: Any, i: Any, j: Any, weight: Any, length: Any) -> None:
    """Note an edge, if it is the lightest one of a component."""
    if _is_lighter(weight, length, lightest, component):
        lightest.weights[component], lightest.lengths[component] = weight, length
        lightest.inside[component], lightest.outside[component] = i, j


@njit(cache=True, nogil=True)
def search_lists(
    core: Any, neighbours: Any, distances2: Any, components: Any, lightest: Any
) -> None:
    """Find light edges in the lists of neighbours."""
    for i in range(len(core)):
        own = components[i]
        for place in range(neighbours.shape[1]):
            length = distances2[i, place]
            at_least = max(core[i], length)
            if not _is_lighter(at_least, length, lightest, own):
                break
            j = neighbours[i, place]
            if components[j] != own:
                offer(lightest, own, i, j, max(at_least, core[j]), length)
                offer(lightest, components[j], j, i, max(at_least, core[j]), length)


@njit(cache=True, nogil=True)
def _offer_all(names: Any, found: Any, lightest: Any) -> None:
    """Note the edges that were found for the components of these names."""
    for place in range(len(names)):
        if found.weights[place] < np.inf:
            offer(
                lightest,
                names[place],
                found.inside[place],
                found.outside[place],
                found.weights[place],
                found.lengths[place],
            )


@njit(cache=True, nogil=True)
def _search_tree(tree: Any, columns: Any, leaves: Any, known: Any, lightest: Any, room: Any) -> Any:
    """Find the lightest edges of the rows of some leaves among those that are not in the lists,
    which end at the distances ``reach``.

    Return the names of their components, and the lightest edge of each that is known now. What is
    known are ``core``, the lowest core distance of each node, ``reach``, and the component of each
    row and node.
    """
    core, node_core, reach, components, node_components = known
    first = tree.starts[leaves[0]]
    names, own = _name_components(components, first, tree.ends[leaves[-1]])
    found = Lightest(
        lightest.weights[names],
        lightest.lengths[names],
        lightest.inside[names],
        lightest.outside[names],
    )
    for leaf in leaves:
        of_leaf = own[tree.starts[leaf] - first : tree.ends[leaf] - first]
        heaviest = _heaviest_of_use(tree, leaf, core, reach, of_leaf, found)
        if heaviest < 0:
            continue
        stack = [(0.0, 0)]
        while len(stack) > 0:
            gap, node = stack.pop()
            if gap >= heaviest or node_core[node] > heaviest:
                continue
            if node_components[node] != SEVERAL and node_components[node] == node_components[leaf]:
                continue
            if tree.children[node] == 0:
                leaf_and_node = (leaf, node)
                of_block = (first, own)
                _search_between(
                    tree, columns, leaf_and_node, core, reach, components, of_block, found, room
                )
                heaviest = _heaviest_of_use(tree, leaf, core, reach, of_leaf, found)
            else:
                _push_children(tree, leaf, node, stack)
    return names, found


@njit(cache=True, nogil=True)
def _name_components(components: Any, start: Any, end: Any) -> Any:
    """Return the components of some positions, and the place of that of each among these.

    Memory for all components is not filled first, which would take longer than the search: a place
    in it counts only if the component of this place is the one that is looked up.
    """
    names = np.empty(end - start, dtype=components.dtype)
    place_of = np.empty(len(components), dtype=np.int32)
    own = np.empty(end - start, dtype=np.int32)
    n_names = 0
    for i in range(start, end):
        component = components[i]
        place = place_of[component]
        if not (0 <= place < n_names and names[place] == component):
            place = n_names
            names[place] = component
            place_of[component] = place
            n_names += 1
        own[i - start] = place
    return names[:n_names].copy(), own


@njit(cache=True, nogil=True)
def _heaviest_of_use(tree: Any, leaf: Any, core: Any, reach: Any, of_leaf: Any, found: Any) -> Any:
    """Return the weight that an edge must fall below to be of use to a row of a leaf.

    -1 if none can be. ``of_leaf`` are the places of the components of its rows.
    """
    heaviest = -1.0
    start = tree.starts[leaf]
    for place in range(len(of_leaf)):
        i = start + place
        weight = found.weights[of_leaf[place]]
        if max(core[i], reach[i]) < weight:
            heaviest = max(heaviest, weight)
    return heaviest


@njit(cache=True, nogil=True)
def _search_between(
    tree: Any,
    columns: Any,
    leaves: Any,
    core: Any,
    reach: Any,
    components: Any,
    of_block: Any,
    found: Any,
    room: Any,
) -> None:
    """Find light edges between the rows of a leaf and those of another one.

    ``of_block`` has the first row of a block, and the place of the component of each of its rows.
    """
    leaf, other = leaves
    first, places = of_block
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        own = places[i - first]
        at_least = max(core[i], reach[i], point_gap2(tree.points[i], tree.boxes, other))
        if at_least >= found.weights[own]:
            continue
        _measure_to_leaf(tree, columns, tree.points[i], other, room)
        for beside in range(tree.ends[other] - tree.starts[other]):
            j = tree.starts[other] + beside
            weight = max(core[i], core[j], room[beside])
            if components[j] != components[i] and _is_lighter(weight, room[beside], found, own):
                offer(found, own, i, j, weight, room[beside])
                if 0 <= j - first < len(places):  # its other row will not have to look for it
                    offer(found, places[j - first], j, i, weight, room[beside])


@njit(cache=True, nogil=True)
def _join_components(
    components: Any, lightest: Any, parents: Any, pairs: Any, lengths: Any, n_pairs: Any
) -> Any:
    """Add the lightest edge of each component, unless edges of this round have joined its ends.

    Return the count.

    Among edges of equal weight any choice gives a minimum spanning tree, as long as no cycle is
    closed.
    """
    for component in range(len(components)):
        if components[component] == component and lightest.weights[component] < np.inf:
            i = lightest.inside[component]
            j = lightest.outside[component]
            a = root(parents, i)
            b = root(parents, j)
            if a != b:
                parents[max(a, b)] = min(a, b)
                pairs[n_pairs, 0], pairs[n_pairs, 1], lengths[n_pairs] = (
                    i,
                    j,
                    lightest.lengths[component],
                )
                n_pairs += 1
    return n_pairs


@njit(cache=True, nogil=True)
def _components_of_nodes(tree: Any, components: Any) -> Any:
    """Return the component of each node whose rows are all in one, and ``SEVERAL`` for other
    nodes.
    """
    found = np.full(len(tree.starts), SEVERAL, dtype=np.int32)
    for node in range(len(found) - 1, -1, -1):
        child = tree.children[node]
        first = components[tree.starts[node]]
        if child > 0:
            is_one = found[child] == first and found[child + 1] == first
        else:
            is_one = np.all(components[tree.starts[node] : tree.ends[node]] == first)
        if is_one:
            found[node] = first
    return found


@njit(cache=True, nogil=True)
def _lowest_in_nodes(tree: Any, values: Any) -> Any:
    """Return the lowest value in each node."""
    lowest = np.empty(len(tree.starts))
    for node in range(len(lowest)):
        lowest[node] = values[tree.starts[node] : tree.ends[node]].min()
    return lowest


@njit(cache=True, nogil=True)
def run_prim(starts: Any, edges: Any, one: Any, two: Any, weights: Any) -> Any:
    """Return the edges of a spanning tree in the order in which Prim's algorithm finds them,
    beginning with row 0.

    The edges of row ``i`` are ``edges[starts[i] : starts[i + 1]]``.
    """
    n_rows = len(starts) - 1
    lightest = np.full(n_rows, np.inf)
    edge_to = np.zeros(n_rows, dtype=np.int64)
    is_done = np.zeros(n_rows, dtype=np.bool_)
    found = np.empty(n_rows - 1, dtype=np.int64)
    n_found = 0
    heap: list[Any] = [(0.0, 0)]  # of equal weights, the lowest row comes first
    while len(heap) > 0:
        _, row = heappop(heap)
        if is_done[row]:
            continue
        is_done[row] = True
        if row > 0:
            found[n_found] = edge_to[row]
            n_found += 1
        for edge in edges[starts[row] : starts[row + 1]]:
            other = two[edge] if one[edge] == row else one[edge]
            if not is_done[other] and weights[edge] < lightest[other]:
                lightest[other], edge_to[other] = weights[edge], edge
                heappush(heap, (weights[edge], np.int64(other)))
    return found
