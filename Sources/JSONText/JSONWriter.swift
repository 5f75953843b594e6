/// Writes one JSON document, byte by byte, commas by itself.
///
/// A comma is due exactly when something stands before the next name or item in the same container. That is one
/// flag: opening a container and writing a name clear it, every finished value sets it.
public struct JSONWriter: Sendable {
  @usableFromInline var storage: [UInt8]
  @usableFromInline var commaIsDue = false

  /// What was written so far.
  public var bytes: [UInt8] { storage }

  /// An empty writer with room for that many bytes.
  public init(capacity: Int = 256) {
    storage = []
    storage.reserveCapacity(capacity)
  }

  /// Forgets what was written and keeps the room, to begin another document.
  public mutating func removeAll() {
    storage.removeAll(keepingCapacity: true)
    commaIsDue = false
  }

  /// Begins an object: as the document, after a name, or as an item.
  @inlinable
  public mutating func beginObject() { open(.openBrace) }

  /// Ends the innermost object.
  @inlinable
  public mutating func endObject() { close(.closeBrace) }

  /// Begins an array: as the document, after a name, or as an item.
  @inlinable
  public mutating func beginArray() { open(.openBracket) }

  /// Ends the innermost array.
  @inlinable
  public mutating func endArray() { close(.closeBracket) }

  /// A member's name, known to need no escaping; its value comes next.
  @inlinable
  public mutating func key(_ name: StaticString) {
    assert(name.hasPointerRepresentation && name.utf8CodeUnitCount > 0)
    startItem()
    storage.append(.quote)
    storage.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    storage.append(.quote)
    storage.append(.colon)
    commaIsDue = false
  }

  /// A member's name, escaped; its value comes next. Disfavored so that a literal is taken as the constant it is.
  @_disfavoredOverload
  public mutating func key(_ name: String) {
    string(name)
    storage.append(.colon)
    commaIsDue = false
  }

  /// A string.
  public mutating func string(_ text: String) {
    var text = text
    text.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
  }

  /// A string from bytes that are known to be UTF-8, such as a text column's.
  public mutating func string(utf8: UnsafeRawBufferPointer) {
    startItem()
    storage.append(.quote)
    appendEscaped(utf8)
    storage.append(.quote)
    commaIsDue = true
  }

  /// An integer of any width.
  @inlinable
  public mutating func int(_ value: some BinaryInteger) {
    if let value = Int64(exactly: value) { integer(value) } else { number(value.description) }
  }

  /// A number in the shortest form that reads back as the same double; `null` if it is infinite or not a number,
  /// for which JSON has no form.
  public mutating func double(_ value: Double) {
    if value.isFinite { number(value.description) } else { null() }
  }

  /// `true` or `false`.
  public mutating func bool(_ value: Bool) { raw(value ? "true" : "false") }

  /// `null`.
  public mutating func null() { raw("null") }

  @inlinable @inline(__always)
  mutating func startItem() {
    if commaIsDue { storage.append(.comma) }
  }

  @inlinable @inline(__always)
  mutating func open(_ bracket: UInt8) {
    startItem()
    storage.append(bracket)
    commaIsDue = false
  }

  @inlinable @inline(__always)
  mutating func close(_ bracket: UInt8) {
    storage.append(bracket)
    commaIsDue = true
  }
}
