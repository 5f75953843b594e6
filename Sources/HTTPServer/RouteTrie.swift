import Glibc
import HTTP

/// Finds the node of a path, segment by segment: text by one look into a hash table over all nodes, then the capture.
///
/// Captures are not collected on the way: a pattern fixes which segments they are, so there is nothing to undo when a branch
/// turns out to be wrong.
struct RouteTrie: Sendable {
  /// Deeper paths have no route.
  static let maxSegments = 32

  private struct Node {
    var capture: Int32 = -1
    var isEnd = false
  }

  private struct Edge {
    let parent: Int32
    let child: Int32
    let text: [UInt8]

    func spells(_ other: UnsafeRawBufferPointer) -> Bool {
      text.count == other.count
        && text.withUnsafeBytes { own in
          own.isEmpty || memcmp(own.baseAddress!, other.baseAddress!, own.count) == 0
        }
    }
  }

  private var nodes = [Node()]
  private var edges: [Edge] = []
  /// Indices into `edges`, -1 for none; a power of two of them, at most half used.
  private var table = [Int32](repeating: -1, count: 8)

  /// Adds a path and answers the number of its node.
  mutating func insert(_ segments: [Route.Segment]) -> Int {
    var node = 0
    for segment in segments {
      switch segment {
      case .literal(let text): node = literalChild(of: node, Array(text.utf8))
      case .capture:
        if nodes[node].capture < 0 { nodes[node].capture = addNode() }
        node = Int(nodes[node].capture)
      }
    }
    nodes[node].isEnd = true
    return node
  }

  private mutating func addNode() -> Int32 {
    nodes.append(Node())
    return Int32(nodes.count - 1)
  }

  private mutating func literalChild(of node: Int, _ text: [UInt8]) -> Int {
    if let child = text.withUnsafeBytes({ child(of: node, $0) }) { return child }
    edges.append(Edge(parent: Int32(node), child: addNode(), text: text))
    if edges.count * 2 > table.count {
      table = [Int32](repeating: -1, count: table.count * 2)
      for index in edges.indices { place(index) }
    } else {
      place(edges.count - 1)
    }
    return nodes.count - 1
  }

  private mutating func place(_ index: Int) {
    let edge = edges[index]
    var slot = edge.text.withUnsafeBytes { RouteTrie.hash(Int(edge.parent), $0) } & (table.count - 1)
    while table[slot] >= 0 { slot = (slot + 1) & (table.count - 1) }
    table[slot] = Int32(index)
  }

  private func child(of node: Int, _ text: UnsafeRawBufferPointer) -> Int? {
    var slot = RouteTrie.hash(node, text) & (table.count - 1)
    while table[slot] >= 0 {
      // Field by field: a copy of the edge would count references to its text.
      let index = Int(table[slot])
      if Int(edges[index].parent) == node, edges[index].spells(text) { return Int(edges[index].child) }
      slot = (slot + 1) & (table.count - 1)
    }
    return nil
  }

  /// FNV-1a. The table's entries come from the program, so nobody can choose texts that collide.
  private static func hash(_ node: Int, _ text: UnsafeRawBufferPointer) -> Int {
    var hash: UInt32 = 2_166_136_261 ^ UInt32(truncatingIfNeeded: node)
    for byte in text { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return Int(hash ^ hash >> 15)
  }

  /// Calls `visit` with the node of each pattern that fits the path, the most literal first, until it answers `true`.
  ///
  /// - Parameters:
  ///   - path: begins with a slash; escapes are undone here, after splitting.
  func find(_ path: UnsafeRawBufferPointer, visit: (Int) -> Bool) {
    if path.contains(UInt8(ascii: "%")) {
      var decoded: [UInt8] = []
      var segments = Segments()
      for part in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
        let text = PercentEncoding.decode(bytes: part, plusIsSpace: false) ?? []  // never nil: the target was checked
        guard segments.append(decoded.count..<decoded.count + text.count) else { return }
        decoded += text
      }
      _ = decoded.withUnsafeBytes { walk(0, 0, segments, $0, visit) }
      return
    }
    var segments = Segments()
    var start = 1
    for index in 1..<max(path.count, 1) where path[index] == UInt8(ascii: "/") {
      guard segments.append(start..<index) else { return }
      start = index + 1
    }
    guard segments.append(start..<max(path.count, 1)) else { return }
    _ = walk(0, 0, segments, path, visit)
  }

  private struct Segments {
    var list = InlineArray<32, (Int32, Int32)>(repeating: (0, 0))
    var count = 0

    mutating func append(_ range: Range<Int>) -> Bool {
      guard count < RouteTrie.maxSegments else { return false }
      list[count] = (Int32(range.lowerBound), Int32(range.upperBound))
      count += 1
      return true
    }
  }

  private func walk(
    _ node: Int, _ depth: Int, _ segments: borrowing Segments, _ bytes: UnsafeRawBufferPointer,
    _ visit: (Int) -> Bool
  ) -> Bool {
    if depth == segments.count { return nodes[node].isEnd && visit(node) }
    let (start, end) = segments.list[depth]
    let text = UnsafeRawBufferPointer(rebasing: bytes[Int(start)..<Int(end)])
    if let child = child(of: node, text), walk(child, depth + 1, segments, bytes, visit) { return true }
    let capture = Int(nodes[node].capture)
    // A capture stands for something: `/users/` is not `/users/{login}` with nobody in it.
    if capture < 0 || text.isEmpty { return false }
    return walk(capture, depth + 1, segments, bytes, visit)
  }
}
