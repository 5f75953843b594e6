import HTTP
import JSONText

/// How faults change answers.
extension World {
  /// Failures before the API has seen the request. `nil` for faults that come later.
  func edgeFailure(_ fault: Fault.Effect) -> Reply? {
    switch fault {
    case .status(let code):
      return .message(Status(code), "Server Error")
    case .html(let code):
      let page = "<!DOCTYPE html>\n<html><body><h1>\(Status(code))</h1><p>Whoa there!</p></body></html>\n"
      return Reply(Status(code), [.contentType: "text/html; charset=utf-8"], body: Array(page.utf8))
    default:
      return nil
    }
  }

  /// Answers of the API that say no for another reason than limits.
  func refusal(_ fault: Fault.Effect) -> Reply? {
    switch fault {
    case .notFound:
      return .message(.notFound, "Not Found")
    case .forbidden:
      return .message(.forbidden, "Resource not accessible by personal access token")
    case .singleSignOn:
      var reply = Reply.message(.forbidden, "Resource protected by organization SAML enforcement.")
      reply.fields.append("X-GitHub-SSO", "required; url=https://github.example/orgs/octo/sso")
      return reply
    case .unavailable: return .takenDown
    case .blocked: return .blocked
    case .conflict: return .message(.conflict, "Git Repository is empty.")
    case .redirect(let path): return .moved(to: base + path)
    default:
      return nil
    }
  }

  /// Spoils an answer that would have been fine. Answers without a body are left alone.
  func distort(_ reply: inout Reply, _ fault: Fault.Effect) {
    guard !reply.status.forbidsBody else { return }
    switch fault {
    case .cut:
      reply.ending = .cut
    case .reset:
      reply.ending = .reset
    case .invalidJSON:
      reply.body = Array("[{'login': undefined},]".utf8)
    case .truncatedJSON:
      reply.body = Array(reply.body[..<(reply.body.count / 2)])
    case .deepJSON(let depth):
      let depth = min(max(0, depth), 10_000_000)
      reply.body = Array(repeating: UInt8(ascii: "["), count: depth) + Array(repeating: UInt8(ascii: "]"), count: depth)
    case .huge(let bytes):
      let filler = [UInt8](repeating: UInt8(ascii: "x"), count: min(max(2, bytes), 256 * 1024 * 1024) - 2)
      reply.body = [UInt8(ascii: "\"")] + filler + [UInt8(ascii: "\"")]
    case .otherShape:
      reply.body = reply.body.first == UInt8(ascii: "[") ? Array(#"{"message":"Not a list"}"#.utf8) : Array("[]".utf8)
    case .idsAsStrings:
      reply.body = World.quoteIDs(reply.body)
    case .shortList:
      reply.body = World.firstHalf(reply.body)
    case .nextIsSelf:
      redirectNext(&reply, to: reply.address)
    case .nextIs(let address):
      redirectNext(&reply, to: address)
    default:
      break
    }
  }

  private func redirectNext(_ reply: inout Reply, to address: String) {
    reply.links = reply.links.map { $0.relations == ["next"] ? Link(address, rel: "next") : $0 }
  }

  private static func firstHalf(_ body: [UInt8]) -> [UInt8] {
    let items = Array(JSONView(checked: body).elements)
    var writer = JSONWriter(capacity: body.count)
    writer.beginArray()
    for item in items.prefix(items.count / 2) { writer.raw(item.bytes) }
    writer.endArray()
    return writer.bytes
  }

  /// `"id":1` becomes `"id":"1"`.
  private static func quoteIDs(_ body: [UInt8]) -> [UInt8] {
    let key = Array(#""id":"#.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(body.count + 256)
    var index = 0
    while index < body.count {
      guard body[index] == key[0], body[index...].starts(with: key) else {
        result.append(body[index])
        index += 1
        continue
      }
      let digits = body[(index + key.count)...].prefix { $0 >= 0x30 && $0 <= 0x39 }
      result += key + [UInt8(ascii: "\"")] + digits + [UInt8(ascii: "\"")]
      index = digits.endIndex
    }
    return result
  }
}
