/// A type that one JSON value can be taken as, by ``JSONObjectReader``.
public protocol JSONReadable {
  /// What the value must be, as the end of the sentence "must be …".
  static var expectation: String { get }

  /// Takes a value of the right kind and range; `nil` for all others.
  init?(json view: JSONView)
}

extension String: JSONReadable {
  /// A string.
  public static var expectation: String { "a string" }

  /// Takes a string.
  public init?(json view: JSONView) {
    guard let text = view.string else { return nil }
    self = text
  }
}

extension Int64: JSONReadable {
  /// An integer of 64 bits.
  public static var expectation: String { "an integer" }

  /// Takes a number written as an integer.
  public init?(json view: JSONView) {
    guard let value = view.int else { return nil }
    self = value
  }
}

extension Int: JSONReadable {
  /// An integer of 64 bits.
  public static var expectation: String { "an integer" }

  /// Takes a number written as an integer.
  public init?(json view: JSONView) {
    guard let value = view.int else { return nil }
    self.init(exactly: value)
  }
}

extension Double: JSONReadable {
  /// A number in the range of a double.
  public static var expectation: String { "a number" }

  /// Takes any number that is finite as a double.
  public init?(json view: JSONView) {
    guard let value = view.double else { return nil }
    self = value
  }
}

extension Bool: JSONReadable {
  /// A truth value.
  public static var expectation: String { "true or false" }

  /// Takes `true` and `false`.
  public init?(json view: JSONView) {
    guard let value = view.bool else { return nil }
    self = value
  }
}
