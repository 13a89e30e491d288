// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The positions of the boxes and lines in a picture. The same graph always has the same layout.
struct GraphLayout {
  struct Point: Hashable {
    var x: Double
    var y: Double
  }

  struct Box: Hashable {
    var x = 0.0
    var y = 0.0
    var width: Double
    var height: Double

    var right: Double { x + width }
    var bottom: Double { y + height }
    var middle: Double { y + height / 2 }
  }

  /// A cubic curve.
  struct Curve: Hashable {
    var start: Point
    var firstControl: Point
    var secondControl: Point
    var end: Point

    /// How far the label extends to the right.
    var labelWidth = 0.0
    /// Whether the curve connects boxes of one column, and bends to their right.
    var isSide = false

    /// The position of the label.
    var center: Point {
      Point(
        x: (start.x + 3 * firstControl.x + 3 * secondControl.x + end.x) / 8,
        y: (start.y + 3 * firstControl.y + 3 * secondControl.y + end.y) / 8)
    }
  }

  /// Sizes in the picture's units.
  enum Size {
    static let character = 7.25
    static let smallCharacter = 6.1
    static let titleHeight = 26.0
    static let lineHeight = 17.0
    static let padding = 10.0
    static let gap = 28.0
    static let margin = 12.0
  }

  private(set) var boxes: [Box]
  /// The right end of each box's column.
  private var columnEnds: [Int: Double] = [:]
  private(set) var curves: [Curve] = []
  private(set) var width = 0.0
  private(set) var height = 0.0

  init(_ graph: ModelGraph) {
    boxes = graph.nodes.map(Self.box)
    switch graph.subject {
    case .versions: stack(graph.edges)
    case .entities: arrange(graph.edges)
    }
    for (position, edge) in graph.edges.enumerated() {
      curves[position].labelWidth =
        Double(Self.width(of: edge.label) + (graph.subject == .versions ? 26 : 2)) * Size.smallCharacter
    }
    width = (boxes.map(\.right) + curves.map { max($0.center.x + $0.labelWidth, $0.firstControl.x) }).max() ?? 0
    height = (boxes.map(\.bottom) + curves.map { $0.center.y + 10 }).max() ?? 0
    width += Size.margin
    height += Size.margin
  }

  private static func box(_ node: ModelGraph.Node) -> Box {
    let longest = max(width(of: node.title) + 1, node.lines.map(width).max() ?? 0)
    return Box(
      width: max(90, Double(longest) * Size.character + 2 * Size.padding),
      height: Size.titleHeight + (node.lines.isEmpty ? 0 : Double(node.lines.count) * Size.lineHeight + 8))
  }

  /// Returns the width of a text in a monospaced font, in columns; East Asian characters take two.
  static func width(of text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + ((0x1100...0xffdc).contains($1.value) || $1.value > 0x1f000 ? 2 : 1) }
  }

  // MARK: Versions

  /// Arranges boxes in one column; lines that skip versions run at the right.
  private mutating func stack(_ edges: [ModelGraph.Edge]) {
    let widest = boxes.map(\.width).max() ?? 0
    var y = Size.margin
    for position in boxes.indices {
      boxes[position].x = Size.margin
      boxes[position].width = widest
      boxes[position].y = y
      y = boxes[position].bottom + 44
    }
    for edge in edges {
      let (source, destination) = (boxes[edge.source], boxes[edge.destination])
      if edge.destination == edge.source + 1 {
        let x = source.x + 40
        curves.append(
          Curve(
            start: Point(x: x, y: source.bottom), firstControl: Point(x: x, y: source.bottom + 15),
            secondControl: Point(x: x, y: destination.y - 15), end: Point(x: x, y: destination.y)))
      } else {
        let reach = source.right + 40 + 24 * Double(abs(edge.destination - edge.source))
        curves.append(
          Curve(
            start: Point(x: source.right, y: source.middle), firstControl: Point(x: reach, y: source.middle),
            secondControl: Point(x: reach, y: destination.middle),
            end: Point(x: destination.right, y: destination.middle)))
      }
    }
  }

  // MARK: Entities

  /// Arranges boxes in columns by their distance from the entity with the most lines. Boxes without lines are in rows
  /// below.
  private mutating func arrange(_ edges: [ModelGraph.Edge]) {
    var neighbors: [Int: Set<Int>] = [:]
    var lines: [Int: [ModelGraph.Edge]] = [:]
    for edge in edges {
      neighbors[edge.source, default: []].formUnion([edge.destination].filter { $0 != edge.source })
      neighbors[edge.destination, default: []].formUnion([edge.source].filter { $0 != edge.destination })
      for node in Set([edge.source, edge.destination]) { lines[node, default: []].append(edge) }
    }
    var columns: [Int: Int] = [:]
    var top = Size.margin
    for root in neighbors.keys.sorted(by: { Self.isNearer($0, $1, neighbors) }) where columns[root] == nil {
      let layers = Self.layers(from: root, neighbors)
      for (column, layer) in layers.enumerated() { for node in layer { columns[node] = column } }
      top = place(layers, top: top, lines) + 2 * Size.gap
    }
    placeInRows(boxes.indices.filter { neighbors[$0] == nil }, top: top)
    connect(edges, columns)
  }

  /// Whether a node comes before another: the one with more lines first, then the earlier one.
  private static func isNearer(_ one: Int, _ other: Int, _ neighbors: [Int: Set<Int>]) -> Bool {
    let (first, second) = (neighbors[one]?.count ?? 0, neighbors[other]?.count ?? 0)
    return first == second ? one < other : first > second
  }

  private static func layers(from root: Int, _ neighbors: [Int: Set<Int>]) -> [[Int]] {
    var seen: Set<Int> = [root]
    var layers = [[root]]
    while let last = layers.last {
      var next: [Int] = []
      // Sorted by their neighbors in the previous column, so that few lines cross.
      for node in last {
        for neighbor in (neighbors[node] ?? []).sorted() where seen.insert(neighbor).inserted { next.append(neighbor) }
      }
      if next.isEmpty { return layers }
      layers.append(next)
    }
    return layers
  }

  /// Places the boxes of a group.
  ///
  /// - Parameter lines: the edges at each node.
  /// - Returns: the position of the group's lower edge.
  private mutating func place(_ layers: [[Int]], top: Double, _ lines: [Int: [ModelGraph.Edge]]) -> Double {
    let heights = layers.map { layer in
      layer.map { boxes[$0].height }.reduce(0, +) + Size.gap * Double(layer.count - 1)
    }
    let tallest = heights.max() ?? 0
    var x = Size.margin
    for (layer, height) in zip(layers, heights) {
      let members = Set(layer)
      var y = top + (tallest - height) / 2
      let widest = layer.map { boxes[$0].width }.max() ?? 0
      for node in layer {
        (boxes[node].x, boxes[node].y) = (x, y)
        columnEnds[node] = x + widest
        y += boxes[node].height + Size.gap
      }
      // The gap contains the labels of lines to the next column, and of lines within this one.
      let edges = layer.flatMap { lines[$0] ?? [] }
      let longest = edges.map { Self.width(of: $0.label) }.max() ?? 0
      let hasSides = edges.contains { members.contains($0.source) && members.contains($0.destination) }
      x += widest + max(90, Double(longest) * Size.smallCharacter + (hasSides ? 110 : 70))
    }
    return top + tallest
  }

  private mutating func placeInRows(_ nodes: [Int], top: Double) {
    let limit = max(900, boxes.map(\.right).max() ?? 0)
    var (x, y, tallest) = (Size.margin, top, 0.0)
    for node in nodes {
      if x > Size.margin, x + boxes[node].width > limit { (x, y, tallest) = (Size.margin, y + tallest + Size.gap, 0) }
      (boxes[node].x, boxes[node].y) = (x, y)
      x = boxes[node].right + Size.gap
      tallest = max(tallest, boxes[node].height)
    }
  }

  /// Draws lines between facing sides of boxes, each from its own position.
  private mutating func connect(_ edges: [ModelGraph.Edge], _ columns: [Int: Int]) {
    struct Port: Hashable {
      let node: Int
      let isRight: Bool
    }
    var ports: [Port: [(edge: Int, isStart: Bool, other: Double)]] = [:]
    for (position, edge) in edges.enumerated() {
      let (first, second) = (columns[edge.source] ?? 0, columns[edge.destination] ?? 0)
      ports[Port(node: edge.source, isRight: first <= second), default: []].append(
        (position, true, boxes[edge.destination].middle))
      ports[Port(node: edge.destination, isRight: second <= first), default: []].append(
        (position, false, boxes[edge.source].middle))
    }
    var starts: [Int: Point] = [:]
    var ends: [Int: Point] = [:]
    for (port, lines) in ports {
      let box = boxes[port.node]
      let sorted = lines.sorted { ($0.other, $0.edge, $0.isStart ? 0 : 1) < ($1.other, $1.edge, $1.isStart ? 0 : 1) }
      for (position, line) in sorted.enumerated() {
        let place = Point(
          x: port.isRight ? box.right : box.x,
          y: box.y + box.height * Double(position + 1) / Double(sorted.count + 1))
        if line.isStart { starts[line.edge] = place } else { ends[line.edge] = place }
      }
    }
    for (position, edge) in edges.enumerated() {
      guard let start = starts[position], let end = ends[position] else { continue }
      let (first, second) = (columns[edge.source] ?? 0, columns[edge.destination] ?? 0)
      if first == second {
        // To the right of all boxes in the column.
        let x = max(columnEnds[edge.source] ?? 0, columnEnds[edge.destination] ?? 0) + 50
        curves.append(
          Curve(
            start: start, firstControl: Point(x: x, y: start.y), secondControl: Point(x: x, y: end.y), end: end,
            isSide: true))
        continue
      }
      let reach = max(40, abs(end.x - start.x) / 2)
      curves.append(
        Curve(
          start: start, firstControl: Point(x: start.x + (first <= second ? reach : -reach), y: start.y),
          secondControl: Point(x: end.x + (second <= first ? reach : -reach), y: end.y), end: end))
    }
  }
}
