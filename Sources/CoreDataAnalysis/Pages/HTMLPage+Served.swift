// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What a page has that a server sends: links to other pages, forms, and pictures that are loaded.
extension HTMLPage {
  /// A part of a line.
  package enum Part {
    case text(String)
    /// Text whose lines stay as they are.
    case lines(String)
    case dim(String)
    case link(String, address: String)
    /// A picture that the server has; the text is shown if it cannot be loaded.
    case picture(address: String, text: String)

    var html: String {
      switch self {
      case .text(let text): return MarkupText.escaped(text)
      case .lines(let text):
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return "<span class=\"lines\">\(lines.map { MarkupText.escaped(String($0)) }.joined(separator: "\n"))</span>"
      case .dim(let text): return "<span class=\"dim\">\(MarkupText.escaped(text))</span>"
      case .link(let text, let address):
        return "<a href=\"\(MarkupText.escaped(address))\">\(MarkupText.escaped(text))</a>"
      case .picture(let address, let text):
        let (address, text) = (MarkupText.escaped(address), MarkupText.escaped(text))
        return "<a href=\"\(address)\"><img src=\"\(address)\" alt=\"\(text)\" title=\"\(text)\" loading=\"lazy\"/></a>"
      }
    }
  }

  /// Adds a line of text, links and pictures.
  package mutating func line(_ parts: [Part], style: String? = nil) {
    body += "<p\(Self.attribute(style))>\(parts.map(\.html).joined())</p>\n"
  }

  /// Adds links to other pages, as the first thing on a page.
  package mutating func navigation(_ links: [Part]) {
    body += "<nav>\(links.map(\.html).joined(separator: " <span class=\"dim\">/</span> "))</nav>\n"
  }

  /// A field of a form.
  package struct Field {
    package enum Kind {
      /// A line of text.
      case line
      case search
      /// A value that is sent, and not shown.
      case hidden
      /// Several lines of text, which are sent as they are, with line breaks of a browser.
      case lines
      /// One of several values.
      case choice([String])
      /// A box that sends its value only if it is checked.
      case check(isChecked: Bool)
    }

    let name: String
    let label: String
    let value: String
    let kind: Kind
    /// A sentence below the field.
    let note: String?

    package init(_ name: String, label: String = "", value: String = "", kind: Kind = .line, note: String? = nil) {
      (self.name, self.label, self.value, self.kind, self.note) = (name, label, value, kind, note)
    }

    fileprivate var html: String {
      let attributes = "name=\"\(MarkupText.escaped(name))\" aria-label=\"\(MarkupText.escaped(label))\""
      let notes = note.map { "<span class=\"note\">\(MarkupText.escaped($0))</span>" } ?? ""
      let control: String
      switch kind {
      case .hidden:
        return "<input type=\"hidden\" name=\"\(MarkupText.escaped(name))\" value=\"\(MarkupText.escaped(value))\"/>"
      case .line, .search:
        let type = if case .search = kind { "search" } else { "text" }
        control =
          "<input type=\"\(type)\" \(attributes) value=\"\(MarkupText.escaped(value))\" autocomplete=\"off\" "
          + "spellcheck=\"false\"/>"
      case .lines:
        let count = value.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).count
        let rows = max(1, min(20, count + value.count / 80))
        // Browsers drop the first line break.
        control =
          "<textarea \(attributes) rows=\"\(rows)\" spellcheck=\"false\">\n\(Self.unchanged(value))</textarea>"
      case .choice(let values):
        let options = values.map { option in
          "<option value=\"\(MarkupText.escaped(option))\"\(option == value ? " selected=\"\"" : "")>"
            + "\(MarkupText.escaped(option.isEmpty ? "none" : option))</option>"
        }
        control = "<select \(attributes)>\(options.joined())</select>"
      case .check(let isChecked):
        let state = isChecked ? " checked=\"\"" : ""
        return "<label class=\"check\"><input type=\"checkbox\" \(attributes) value=\"1\"\(state)/> "
          + "\(MarkupText.escaped(label))</label>\n"
      }
      return "<label><span>\(MarkupText.escaped(label))</span>\(control)\(notes)</label>\n"
    }

    /// Escapes a text such that a browser sends it back as it is.
    private static func unchanged(_ text: String) -> String {
      var result = ""
      for scalar in text.unicodeScalars {
        switch scalar {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case _ where scalar.properties.generalCategory == .format: result += "&#\(scalar.value);"
        default: result.unicodeScalars.append(scalar)
        }
      }
      return result
    }
  }

  /// Adds a form.
  ///
  /// - Parameters:
  ///   - address: the page that receives the fields.
  ///   - changes: whether the form is sent by POST, to change something.
  ///   - style: `bar` for fields side by side; nil for one below the other.
  package mutating func form(
    to address: String, _ fields: [Field], button: String, changes: Bool = false, style: String? = nil
  ) {
    body +=
      "<form action=\"\(MarkupText.escaped(address))\" method=\"\(changes ? "post" : "get")\""
      + "\(changes ? " accept-charset=\"utf-8\"" : "")\(Self.attribute(style))>\n"
      + fields.map(\.html).joined() + "<button>\(MarkupText.escaped(button))</button>\n</form>\n"
  }

  static let servedRules = """
    nav { margin: 0 0 1rem; overflow-wrap: anywhere; }
    .lines { white-space: pre-wrap; }
    td { max-width: 32rem; min-width: 3rem; }
    td:has(> .lines) { min-width: 10rem; }
    th a { text-decoration: none; }
    td img { max-height: 4rem; max-width: 8rem; vertical-align: middle; background: var(--box); }
    .large img { max-height: 24rem; max-width: 100%; }
    form { margin: .8rem 0; }
    form label { display: block; margin: 0 0 .8rem; }
    form label > span:first-child { display: block; font-weight: 600; font-size: .9rem; }
    form .note { display: block; color: var(--dim); font-size: .85rem; }
    form.bar { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: flex-start; }
    form.bar label { flex: 1 1 14rem; margin: 0; }
    form.bar button { margin-top: 1.4rem; }
    input, button, textarea, select { font: inherit; color: inherit; background: var(--box); \
    border: 1px solid var(--line); border-radius: 6px; padding: .35rem .6rem; box-sizing: border-box; }
    input, textarea { width: 100%; }
    textarea { resize: vertical; }
    form.edit { max-width: 44rem; }
    form.edit label.check { font-size: .9rem; color: var(--dim); margin-top: -.6rem; }
    form.edit label.check input { width: auto; }
    form.edit .note { overflow-wrap: anywhere; }
    form.danger button { border-color: var(--bad); color: var(--bad); }
    button { cursor: pointer; background: var(--ground); border-color: var(--accent); color: var(--accent); }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }

    """
}
