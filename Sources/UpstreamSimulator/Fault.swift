/// Something that goes wrong with some requests, or just otherwise than usual.
public struct Fault: Sendable, Equatable {
  /// What happens.
  public enum Effect: Sendable, Equatable {
    /// The answer comes that many milliseconds later.
    case slow(milliseconds: Int)
    /// The connection ends in the middle of the body.
    case cut
    /// The connection ends before the body begins.
    case reset
    /// A failure of the edge: any status, plain JSON message, no rate fields, nothing charged.
    case status(Int)
    /// An HTML page instead of JSON, with that status.
    case html(Int)
    /// A refusal for the primary limit, whatever the budget says; the budget is used up by it.
    case primaryLimit
    /// A refusal for a secondary limit.
    case secondaryLimit
    /// 404, as for a hidden account.
    case notFound
    /// 451 with the block object of GitHub.
    case unavailable
    /// 403 with the block object of GitHub.
    case blocked
    /// 409, as for the commits of an empty repository.
    case conflict
    /// 403 that is no limit: a policy, with budget left.
    case forbidden
    /// 403 that is no limit: the token needs a single sign-on session of the organization.
    case singleSignOn
    /// 301 to that path of the simulator, such as `/user/583231`.
    case redirect(String)
    /// 200 with something that is not JSON.
    case invalidJSON
    /// 200 with the first half of the body, framed as if it were whole.
    case truncatedJSON
    /// 200 with that many nested arrays.
    case deepJSON(depth: Int)
    /// 200 with a JSON string of that many bytes.
    case huge(bytes: Int)
    /// 200 with an object where a list is due, or a list where an object is.
    case otherShape
    /// Ids are strings.
    case idsAsStrings
    /// The `next` link is the page itself.
    case nextIsSelf
    /// The `next` link is that URL.
    case nextIs(String)
    /// The list loses its first person before the page is made: what follows moves up, one is missed.
    case dropFirst
    /// Somebody new follows before the page is made: what follows moves down, one comes twice.
    case insertFirst
    /// A search that took too long: half of the page, marked as incomplete.
    case incompleteSearch
    /// A search in another order than before: everybody moves one place down, so that one comes twice.
    case unstableSearch
    /// 200 with the first half of a list, well-formed.
    case shortList
    /// What GIPHY says with 200 when it cannot answer: no data and no `response_id`.
    case synthetic
    /// A list of GIPHY's without `pagination`.
    case noPagination
    /// `"data": []` where one object is due.
    case emptyData
    /// An error in GIPHY's shape with that status, such as 401, 403 for a banned key, 429.
    case giphyError(Int)
    /// An error in the shape of GIPHY's old gateway, without `meta`.
    case gatewayError(Int)
    /// An answer with the query that was sent in it, keys included.
    case echoQuery
  }

  /// Requests it is about.
  public var pattern: PathPattern
  /// Matching requests left alone before it begins.
  public var skip: Int
  /// Matching requests it happens to; `nil`: all.
  public var times: Int?
  /// What happens.
  public var effect: Effect

  /// A fault for the next `times` matching requests after `skip` others.
  public init(_ effect: Effect, on pattern: PathPattern, times: Int? = nil, after skip: Int = 0) {
    self.effect = effect
    self.pattern = pattern
    self.times = times
    self.skip = skip
  }
}

/// Faults to come, in the order they were given. A request gets the first that is due.
struct Faults: Sendable {
  private(set) var list: [Fault] = []
  private static let maxCount = 1000

  /// `false` when there are too many already.
  mutating func add(_ fault: Fault) -> Bool {
    guard list.count < Faults.maxCount else { return false }
    list.append(fault)
    return true
  }

  mutating func removeAll() { list = [] }

  /// Counts the request against all faults it matches, and answers the first that is due.
  mutating func take(where matches: (PathPattern) -> Bool) -> Fault.Effect? {
    for index in list.indices where matches(list[index].pattern) {
      if list[index].skip > 0 {
        list[index].skip -= 1
        continue
      }
      let effect = list[index].effect
      if let times = list[index].times {
        if times <= 1 { list.remove(at: index) } else { list[index].times = times - 1 }
      }
      return effect
    }
    return nil
  }
}
