/// SQL text with its parameters. Written as a string literal whose interpolations become parameters:
///
///     let query: Query = "SELECT login FROM magpie.person WHERE id = \(id)"
///
/// A value can therefore never be read as SQL. Numbers, booleans, `UUID`, `Instant`, bytes and arrays are sent with their
/// type; strings and `JSON` are sent untyped, so that PostgreSQL infers what the column or function wants (write
/// `\(text)::text` where it cannot, as in `concat` or `format`). Each distinct text is prepared once a connection, so texts
/// must come from a bounded set.
public struct Query: Sendable, ExpressibleByStringInterpolation {
  /// The statement, with `$1`, `$2`, … in the places of the parameters.
  public private(set) var sql: String
  var bindings: Bindings

  /// A statement without parameters.
  public init(stringLiteral value: String) {
    sql = value
    bindings = Bindings()
  }

  /// The compiler's way from an interpolated literal.
  public init(stringInterpolation interpolation: Interpolation) {
    sql = interpolation.sql
    bindings = interpolation.bindings
  }

  /// A statement that is only known at run time. The text must be trusted: it is SQL.
  public init(unsafe sql: String) {
    self.sql = sql
    bindings = Bindings()
  }

  /// How many parameters there are. At most 65,535 can be sent.
  public var parameterCount: Int { bindings.entries.count }

  /// Collects the pieces of an interpolated literal.
  public struct Interpolation: StringInterpolationProtocol {
    var sql = ""
    var bindings = Bindings()

    /// Part of `StringInterpolationProtocol`.
    public init(literalCapacity: Int, interpolationCount: Int) {
      sql.reserveCapacity(literalCapacity + 3 * interpolationCount)
      bindings.reserve(interpolationCount)
    }

    /// Part of `StringInterpolationProtocol`.
    public mutating func appendLiteral(_ literal: String) { sql += literal }

    /// A parameter.
    public mutating func appendInterpolation<Value: Bindable>(_ value: Value) {
      placeholder()
      value.bind(to: &bindings)
    }

    /// A parameter, NULL when there is no value.
    public mutating func appendInterpolation<Value: Bindable>(_ value: Value?) {
      placeholder()
      if let value { value.bind(to: &bindings) } else { bindings.appendNull(type: Value.parameterType) }
    }

    /// SQL text that is not a parameter: an identifier or keyword from a constant. Never anything a client sent.
    public mutating func appendInterpolation(unsafe text: String) { sql += text }

    /// A piece of SQL with its own parameters, which are numbered on from here.
    public mutating func appendInterpolation(fragment: Query) {
      let utf8 = fragment.sql.utf8
      var start = utf8.startIndex
      for (index, entry) in fragment.bindings.entries.enumerated() {
        let place = utf8.index(utf8.startIndex, offsetBy: Int(entry.place))
        sql += fragment.sql[start..<place]
        placeholder()
        bindings.append(entry, of: fragment.bindings)
        start = utf8.index(place, offsetBy: 1 + String(index + 1).utf8.count)
      }
      sql += fragment.sql[start...]
      bindings.adoptRefusal(of: fragment.bindings)
    }

    private mutating func placeholder() {
      bindings.nextPlace = UInt32(truncatingIfNeeded: sql.utf8.count)
      sql += "$"
      let number = bindings.entries.count + 1
      if number < 10 { sql.unicodeScalars.append(Unicode.Scalar(UInt8(48 + number))) } else { sql += String(number) }
    }
  }
}
