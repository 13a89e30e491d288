// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A picture as input for drawing programs.
extension ModelGraph {
  /// The picture in Mermaid's language, which code review pages and documentation tools draw.
  public var mermaid: String {
    switch subject {
    case .entities: "classDiagram\n" + classNodes + edges.map(classEdge).joined()
    case .versions: "flowchart LR\n" + flowNodes + edges.map(flowEdge).joined()
    }
  }

  private var classNodes: String {
    nodes.enumerated().map { position, node in
      var text = "  class e\(position)[\"\(Self.mermaidText(node.title))\"]\n"
      if node.isMarked { text += "  <<abstract>> e\(position)\n" }
      for line in node.lines { text += "  e\(position) : \(Self.mermaidText(line))\n" }
      return text
    }.joined()
  }

  private func classEdge(_ edge: Edge) -> String {
    let (source, destination) = ("e\(edge.source)", "e\(edge.destination)")
    guard edge.kind != .inheritance else { return "  \(source) <|-- \(destination)\n" }
    let first = edge.sourceMark.isEmpty ? "" : " \"\(edge.sourceMark)\""
    let second = edge.destinationMark.isEmpty ? "" : "\"\(edge.destinationMark)\" "
    return "  \(source)\(first) --> \(second)\(destination) : \(Self.mermaidText(edge.label))\n"
  }

  private var flowNodes: String {
    nodes.enumerated().map { position, node in
      let text = ([node.title] + node.lines).map(Self.mermaidText).joined(separator: "<br>")
      return "  v\(position)[\"\(text)\"]\n" + (node.isMarked ? "  style v\(position) stroke-width:4px\n" : "")
    }.joined()
  }

  private func flowEdge(_ edge: Edge) -> String {
    let label = Self.mermaidText("\(edge.kind.rawValue): \(edge.label)")
    let line = edge.kind == .custom ? "-.->" : edge.kind == .mapping ? "==>" : "-->"
    return "  v\(edge.source) \(line)|\"\(label)\"| v\(edge.destination)\n"
  }

  /// Returns a text for a label. Characters that would end the label are replaced by Mermaid's character codes.
  private static func mermaidText(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || " .,:/_-+()*".unicodeScalars.contains(scalar)
      if isPlain { result.unicodeScalars.append(scalar) } else { result += "#\(scalar.value);" }
    }
    return result
  }

  /// The picture in Graphviz's language, for conversion to SVG, PNG or PDF.
  public var dot: String {
    var text = "digraph model {\n  rankdir=LR;\n  node [shape=record, fontname=\"Helvetica\", fontsize=10];\n"
    text += "  edge [fontname=\"Helvetica\", fontsize=9];\n"
    for (position, node) in nodes.enumerated() {
      let lines = node.lines.map { Self.recordText($0) + "\\l" }.joined()
      let style = node.isMarked ? ", style=bold" : ""
      text += "  n\(position) [label=\"{\(Self.recordText(node.title))|\(lines)}\"\(style)];\n"
    }
    for edge in edges {
      var attributes = ["label=\"\(Self.quotedText(edge.label))\""]
      switch edge.kind {
      case .inheritance: attributes += ["arrowtail=empty", "dir=back"]
      case .relationship:
        attributes += ["arrowhead=none", "taillabel=\"\(edge.sourceMark)\"", "headlabel=\"\(edge.destinationMark)\""]
      case .inferred: break
      case .custom: attributes += ["style=dashed"]
      case .mapping: attributes += ["style=bold"]
      }
      text += "  n\(edge.source) -> n\(edge.destination) [\(attributes.joined(separator: ", "))];\n"
    }
    return text + "}\n"
  }

  private static func quotedText(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\"", "\\": result += "\\\(character)"
      case _ where character.isNewline: result += " "
      default: result.append(character)
      }
    }
    return result
  }

  /// Escapes a text for a record, in which brackets and bars separate fields.
  private static func recordText(_ text: String) -> String {
    var result = ""
    for character in quotedText(text) {
      if "{}|<>".contains(character) { result += "\\" }
      result.append(character)
    }
    return result
  }
}
