/// Reads an object with known members, such as a request's body, and finds everything wrong with it in one go.
///
/// ```swift
/// let body = try JSONObjectReader.read(bytes) { reader in
///   (name: reader.required("name", as: String.self), note: reader.optional("note", as: String.self))
/// }
/// ```
///
/// Members nobody asked for are refused, and so is text that cannot be stored: `\u0000` and lone surrogates are
/// never dropped silently. Of duplicate members the first counts. Values are `nil` where an issue was found, and
/// `read` throws in the end if there was any.
public struct JSONObjectReader {
  /// Something wrong at one place.
  public struct Issue: Equatable, Sendable {
    /// The place as a JSON Pointer (RFC 6901); empty for the document itself.
    public let pointer: String
    /// What is wrong, as the rest of a sentence whose subject is the place, such as `must be a string`.
    public let detail: String

    /// An issue at a place.
    public init(pointer: String, detail: String) {
      self.pointer = pointer
      self.detail = detail
    }
  }

  /// Why a body was refused.
  public enum Refusal: Error, Equatable, Sendable {
    /// Not JSON, or beyond its limits.
    case invalid(JSONText.Invalid)
    /// JSON of the wrong shape: at least one issue, ``JSONObjectReader/maxIssues`` at most, in the order found.
    case issues([Issue])
  }

  /// A member that tells being absent from being `null`, which is what a partial update needs.
  public enum Field<Value> {
    /// Not there, or refused with an issue.
    case absent
    /// There, and `null`.
    case null
    /// There.
    case value(Value)
  }

  /// How many issues are kept; a hostile body could have a million.
  public static let maxIssues = 50

  /// The issues found so far, members nobody asked for not yet among them.
  public private(set) var issues: [Issue] = []
  private let pointer: String
  private let members: [(key: String, value: JSONView)]
  private var wasRead: [Bool]

  /// Checks a document and lets `body` ask for its members.
  public static func read<R>(
    _ bytes: [UInt8], limits: JSONText.Limits = JSONText.Limits(),
    _ body: (inout JSONObjectReader) throws -> R
  ) throws -> R {
    let view: JSONView
    var unstorable: [Issue] = []
    do throws(JSONText.Invalid) {
      let isStorable = try Scan.document(bytes, limits: limits) == nil
      view = JSONView(checked: bytes)
      if !isStorable { unstorable = UnstorableText.issues(in: view) }
    } catch {
      throw Refusal.invalid(error)
    }
    guard view.kind == .object else { throw Refusal.issues([Issue(pointer: "", detail: "must be an object")]) }
    var reader = JSONObjectReader(view, pointer: "", issues: unstorable)
    let result = try body(&reader)
    reader.refuseUnknownMembers()
    guard reader.issues.isEmpty else { throw Refusal.issues(reader.issues) }
    return result
  }

  private init(_ view: JSONView, pointer: String, issues: [Issue]) {
    self.pointer = pointer
    self.issues = issues
    members = Array(view.members)
    wasRead = Array(repeating: false, count: members.count)
  }

  /// Whether a member is there, `null` included.
  public func has(_ name: String) -> Bool { members.contains { $0.key == name } }

  /// A member's value as it is, text within it judged but nothing else. `nil` when it is absent.
  public mutating func raw(_ name: String) -> JSONView? {
    var found: JSONView?
    for index in members.indices where members[index].key == name {
      wasRead[index] = true
      found = found ?? members[index].value
    }
    return found
  }

  /// Refuses the value of a member for a reason of the caller's own, such as a length. The detail is the rest of a
  /// sentence: `must have 3 to 39 characters`.
  public mutating func refuse(_ name: String, _ detail: String) {
    refuse(at: pointer(to: name), detail)
  }

  /// A member that has to be there and of a type. `nil` only with an issue.
  public mutating func required<Value: JSONReadable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
    guard let view = raw(name) else {
      refuse(name, "is required")
      return nil
    }
    let value = Value(json: view)
    if value == nil { refuse(name, "must be \(Value.expectation)") }
    return value
  }

  /// A member that may be absent or `null`, which both give `nil`.
  public mutating func optional<Value: JSONReadable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
    guard case .value(let value) = field(name, as: type) else { return nil }
    return value
  }

  /// A member that may be absent, and may be `null` with a meaning of its own.
  public mutating func field<Value: JSONReadable>(_ name: String, as type: Value.Type = Value.self) -> Field<Value> {
    guard let view = raw(name) else { return .absent }
    if view.isNull { return .null }
    if let value = Value(json: view) { return .value(value) }
    refuse(name, "must be \(Value.expectation)")
    return .absent
  }

  /// A member that is an array of values of one type, with at most so many. Absent and `null` give `nil`.
  public mutating func list<Value: JSONReadable>(
    _ name: String, of type: Value.Type = Value.self, maxCount: Int
  ) -> [Value]? {
    guard let items = items(name, maxCount: maxCount) else { return nil }
    var values: [Value] = []
    let list = pointer(to: name)
    for (index, item) in items.enumerated() {
      if let value = Value(json: item) {
        values.append(value)
      } else {
        refuse(at: JSONPointer.appending(index, to: list), "must be \(Value.expectation)")
      }
    }
    return values
  }

  /// A member that is an object, read by `body`. Absent and `null` give `nil`.
  public mutating func object<R>(_ name: String, _ body: (inout JSONObjectReader) throws -> R) rethrows -> R? {
    guard let view = raw(name), !view.isNull else { return nil }
    return try nested(view, at: pointer(to: name), body)
  }

  /// A member that is an array of objects, at most so many, each read by `body`. Absent and `null` give `nil`.
  public mutating func objects<R>(
    _ name: String, maxCount: Int, _ body: (inout JSONObjectReader) throws -> R
  ) rethrows -> [R]? {
    guard let items = items(name, maxCount: maxCount) else { return nil }
    var results: [R] = []
    for (index, view) in items.enumerated() {
      let place = JSONPointer.appending(index, to: pointer(to: name))
      if let result = try nested(view, at: place, body) { results.append(result) }
    }
    return results
  }

  private mutating func items(_ name: String, maxCount: Int) -> [JSONView]? {
    guard let view = raw(name), !view.isNull else { return nil }
    guard view.kind == .array else {
      refuse(name, "must be an array")
      return nil
    }
    // One more than allowed is enough to know; the rest is not even looked at.
    let items = Array(view.elements.prefix(maxCount + 1))
    if items.count > maxCount {
      refuse(name, "must not have more than \(maxCount) items")
      return nil
    }
    return items
  }

  private mutating func nested<R>(
    _ view: JSONView, at pointer: String, _ body: (inout JSONObjectReader) throws -> R
  ) rethrows -> R? {
    guard view.kind == .object else {
      refuse(at: pointer, "must be an object")
      return nil
    }
    var reader = JSONObjectReader(view, pointer: pointer, issues: issues)
    let result = try body(&reader)
    reader.refuseUnknownMembers()
    issues = reader.issues
    return result
  }

  private mutating func refuseUnknownMembers() {
    for (member, wasRead) in zip(members, wasRead) where !wasRead {
      let place = pointer(to: member.key)
      refuse(at: place, place == pointer ? "has a member that is not known here" : "is not known here")
    }
  }

  private mutating func refuse(at pointer: String, _ detail: String) {
    if issues.count < Self.maxIssues { issues.append(Issue(pointer: pointer, detail: detail)) }
  }

  private func pointer(to name: String) -> String { JSONPointer.appending(name, to: pointer) }
}
