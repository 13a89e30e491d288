// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The highlighted parts of a picture.
package struct GraphHighlights {
  /// The change of a part since the previous version.
  package enum Change: String, Sendable {
    case added, changed
  }

  /// The highlighted boxes, by position.
  package var nodes: [Int: Change] = [:]
  /// The highlighted lines of text in boxes, by the positions of boxes and lines.
  package var lines: [Int: [Int: Change]] = [:]

  package init() {}
}

/// A picture as SVG, which is drawn without another program.
extension ModelGraph {
  /// The contents of an SVG file, readable on light and dark backgrounds.
  public var svg: String { svg(GraphHighlights(), isAlone: true) }

  /// Returns the picture, either as a file of its own or for a page that includes `GraphStyle.rules`.
  package func svg(_ highlights: GraphHighlights, isAlone: Bool) -> String {
    let layout = GraphLayout(self)
    let (width, height) = (Int(layout.width.rounded(.up)), Int(layout.height.rounded(.up)))
    let what = subject == .entities ? "Entities" : "Versions"
    var text =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" aria-label=\"\(what)\" "
      + "width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\">\n"
    if isAlone {
      text +=
        "<style>\(GraphStyle.colors)\(GraphStyle.rules)</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    }
    for (edge, curve) in zip(edges, layout.curves) { text += Self.line(edge, curve) }
    for (position, node) in nodes.enumerated() {
      text += Self.box(
        node, layout.boxes[position], highlights.nodes[position], highlights.lines[position] ?? [:])
    }
    for (edge, curve) in zip(edges, layout.curves) { text += labels(edge, curve) }
    return text + "</svg>\n"
  }

  private static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  private static func line(_ edge: Edge, _ curve: GraphLayout.Curve) -> String {
    let points = [curve.start, curve.firstControl, curve.secondControl, curve.end].map {
      "\(number($0.x)) \(number($0.y))"
    }
    let path =
      "<path class=\"\(edge.kind.rawValue)\" d=\"M \(points[0]) C \(points[1]), \(points[2]), \(points[3])\"/>\n"
    switch edge.kind {
    case .relationship: return path
    // The hollow arrow points to the parent.
    case .inheritance: return path + arrow(at: curve.start, from: curve.firstControl, "hollow")
    case .inferred, .custom, .mapping: return path + arrow(at: curve.end, from: curve.secondControl, "full")
    }
  }

  private static func arrow(at tip: GraphLayout.Point, from origin: GraphLayout.Point, _ style: String) -> String {
    let (dx, dy) = (tip.x - origin.x, tip.y - origin.y)
    let length = max((dx * dx + dy * dy).squareRoot(), 0.001)
    let (x, y) = (dx / length, dy / length)
    let base = (tip.x - 10 * x, tip.y - 10 * y)
    let corners = [(tip.x, tip.y), (base.0 - 5 * y, base.1 + 5 * x), (base.0 + 5 * y, base.1 - 5 * x)]
    let points = corners.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
    return "<polygon class=\"\(style)\" points=\"\(points)\"/>\n"
  }

  private static func box(
    _ node: Node, _ box: GraphLayout.Box, _ change: GraphHighlights.Change?, _ lines: [Int: GraphHighlights.Change]
  ) -> String {
    let classes = ["box", node.isMarked ? "marked" : nil, change?.rawValue].compactMap { $0 }.joined(separator: " ")
    let (x, y) = (number(box.x), number(box.y))
    var text = "<g class=\"\(classes)\">\n"
    text += "<rect x=\"\(x)\" y=\"\(y)\" width=\"\(number(box.width))\" height=\"\(number(box.height))\" rx=\"5\"/>\n"
    let left = number(box.x + GraphLayout.Size.padding)
    text += "<text class=\"title\" x=\"\(left)\" y=\"\(number(box.y + 18))\">\(MarkupText.escaped(node.title))</text>\n"
    if !node.lines.isEmpty {
      let rule = number(box.y + GraphLayout.Size.titleHeight)
      text += "<path class=\"rule\" d=\"M \(x) \(rule) H \(number(box.right))\"/>\n"
    }
    for (position, line) in node.lines.enumerated() {
      let baseline = box.y + GraphLayout.Size.titleHeight + 16 + Double(position) * GraphLayout.Size.lineHeight
      let style = lines[position].map { " class=\"\($0.rawValue)\"" } ?? ""
      text += "<text\(style) x=\"\(left)\" y=\"\(number(baseline))\">\(MarkupText.escaped(line))</text>\n"
    }
    return text + "</g>\n"
  }

  private func labels(_ edge: Edge, _ curve: GraphLayout.Curve) -> String {
    var text = ""
    func add(_ label: String, _ point: GraphLayout.Point, _ anchor: String) {
      guard !label.isEmpty else { return }
      text +=
        "<text class=\"label\" x=\"\(Self.number(point.x))\" y=\"\(Self.number(point.y))\" text-anchor=\"\(anchor)\">"
        + "\(MarkupText.escaped(label))</text>\n"
    }
    if subject == .versions {
      let label = "\(edge.kind == .custom ? "needs a mapping model" : edge.kind.rawValue): \(edge.label)"
      add(label, .init(x: curve.center.x + 8, y: curve.center.y + 4), "start")
      return text
    }
    if curve.isSide {
      add(edge.label, .init(x: curve.center.x + 4, y: curve.center.y + 3), "start")
    } else {
      add(edge.label, .init(x: curve.center.x, y: curve.center.y - 3), "middle")
    }
    for (mark, end, control) in [
      (edge.sourceMark, curve.start, curve.firstControl), (edge.destinationMark, curve.end, curve.secondControl),
    ] {
      let isRight = control.x > end.x
      add(mark, .init(x: end.x + (isRight ? 4 : -4), y: end.y - 4), isRight ? "start" : "end")
    }
    return text
  }
}

/// The styles of pictures and pages, for light and dark backgrounds.
package enum GraphStyle {
  /// The colors as CSS variables.
  package static let colors = """
    :root { --ground: #fff; --text: #1c1e21; --dim: #59606b; --line: #7b8494; --edge: #c9ced6; --box: #f6f7f9; \
    --accent: #0a58ca; --good: #146c43; --good-ground: #d8f0e1; --warn: #7a4d00; --warn-ground: #fff0cc; \
    --bad: #a51d2d; --bad-ground: #fbdcdf; }
    @media (prefers-color-scheme: dark) { :root { --ground: #16181c; --text: #e8eaed; --dim: #a3abb8; --line: #8d96a5; \
    --edge: #3c424c; --box: #20242a; --accent: #7fb2ff; --good: #7fd6a4; --good-ground: #14392a; --warn: #ffcf70; \
    --warn-ground: #45340d; --bad: #ff9aa5; --bad-ground: #4a1a21; } }

    """

  /// The CSS rules for pictures.
  package static let rules = """
    .graph { font: 12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
    .graph .ground { fill: var(--ground); }
    .graph text { fill: var(--text); }
    .graph rect { fill: var(--box); stroke: var(--line); }
    .graph .ground { stroke: none; fill: var(--ground); }
    .graph .title { font-weight: bold; }
    .graph .marked rect { stroke-width: 2.5; }
    .graph .added rect { stroke: var(--good); fill: var(--good-ground); }
    .graph .changed rect { stroke: var(--warn); }
    .graph text.added { fill: var(--good); font-weight: bold; }
    .graph text.changed { fill: var(--warn); font-weight: bold; }
    .graph path { fill: none; stroke: var(--line); stroke-width: 1.2; }
    .graph .rule { stroke: var(--edge); }
    .graph .custom { stroke-dasharray: 5 4; stroke: var(--bad); }
    .graph .mapping { stroke-width: 2.5; }
    .graph .full { fill: var(--line); }
    .graph .hollow { fill: var(--ground); stroke: var(--line); }
    .graph .label { font-size: 10px; fill: var(--dim); paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }

    """
}

/// Text for use in markup.
package enum MarkupText {
  /// Returns the text with markup characters escaped, and characters that markup cannot contain replaced.
  package static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\n", "\t": result += " "
      // Control characters and bidirectional formatting characters are replaced.
      case _ where scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) || scalar.value & 0xfffe == 0xfffe,
        _ where (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value):
        result += "\u{fffd}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
