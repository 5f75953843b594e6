/// Header or trailer fields in the order they stand on the wire, repeats kept.
///
/// A value with CR, LF, NUL or another control character can never get in, so that nothing written from here splits a
/// message (RFC 9110, 5.5): `append` and `set` refuse it and say so.
///
/// A plain array: for real header counts a scan is faster than an index.
public struct Fields: Sendable, Equatable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
  /// One field line.
  public struct Field: Sendable, Equatable {
    /// Compared without regard to case.
    public let name: Name
    /// Without the blanks around it.
    public let value: String
  }

  private var list: [Field] = []

  /// No fields.
  public init() {}

  /// The fields in order; repeats are kept, values that cannot stand on the wire are left out.
  public init(dictionaryLiteral elements: (Name, String)...) {
    list.reserveCapacity(elements.count + 4)
    for (name, value) in elements { append(name, value) }
  }

  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of field lines.
  public var endIndex: Int { list.count }
  /// The field line at a position.
  public subscript(position: Int) -> Field { list[position] }

  /// The first value of a field. Setting replaces all of its lines by one, or removes them.
  public subscript(name: Name) -> String? {
    get { list.first { $0.name == name }?.value }
    set {
      if let newValue { set(name, newValue) } else { remove(name) }
    }
  }

  /// All values of a field, a line each.
  public subscript(values name: Name) -> [String] { list.lazy.filter { $0.name == name }.map(\.value) }

  /// All values of a list field as one, joined by commas (RFC 9110, 5.3). `nil` when there is no line.
  public subscript(joined name: Name) -> String? {
    let values = self[values: name]
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// Whether there is a line of that name.
  public func contains(_ name: Name) -> Bool { list.contains { $0.name == name } }

  /// Adds a line. `false`, and nothing added, when the value holds a control character.
  @discardableResult
  public mutating func append(_ name: Name, _ value: String) -> Bool {
    guard Fields.isValid(value) else { return false }
    list.append(Field(name: name, value: value))
    return true
  }

  /// Replaces all lines of that name by one. `false`, and nothing changed, when the value holds a control character.
  @discardableResult
  public mutating func set(_ name: Name, _ value: String) -> Bool {
    guard Fields.isValid(value) else { return false }
    if let first = list.firstIndex(where: { $0.name == name }) {
      list[first] = Field(name: name, value: value)
      let rest = list[(first + 1)...]
      if rest.contains(where: { $0.name == name }) {
        list.replaceSubrange((first + 1)..., with: rest.filter { $0.name != name })
      }
    } else {
      list.append(Field(name: name, value: value))
    }
    return true
  }

  /// Removes all lines of that name.
  public mutating func remove(_ name: Name) { list.removeAll { $0.name == name } }

  /// Whether a value may stand in a field line.
  public static func isValid(_ value: String) -> Bool {
    // Native strings lend their bytes; a plain loop over those is several times as fast as one over the view.
    value.utf8.withContiguousStorageIfAvailable { bytes in
      for byte in bytes where !ASCII.isFieldValue(byte) { return false }
      return true
    } ?? value.utf8.allSatisfy(ASCII.isFieldValue)
  }

  package init(capacity: Int) { list.reserveCapacity(capacity) }

  package mutating func append(checked name: Name, _ value: String) { list.append(Field(name: name, value: value)) }
}
