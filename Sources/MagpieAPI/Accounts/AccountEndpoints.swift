import HTTP
import HTTPServer
import JSONText
import Magpie

/// `/v1/account`: what people do with their own account.
struct AccountEndpoints: Sendable {
  static let maxBody = 64 << 10
  static let maxNameLength = 100
  let services: Services

  /// `GET /v1/account`.
  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    guard let profile = try await services.accounts.profile(of: token) else { throw APIError.badCredentials }
    return Answers.document(AccountEndpoints.document(profile), for: request)
  }

  /// `PATCH /v1/account`: settings; with `If-Match`, only if all of the account is still as the client has seen it.
  func change(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let condition = request[joined: .ifMatch].map { EntityTag.Condition($0) }
    let change = try AccountEndpoints.read(try await request.body(limit: AccountEndpoints.maxBody))
    let outcome = try await services.accounts.change(change, token: token) { profile in
      guard case .oneOf(let tags) = condition else { return true }
      let tag = EntityTag(hashing: AccountEndpoints.document(profile))
      return tags.contains { $0.matchesStrongly(tag) }
    }
    switch outcome {
    case nil: throw APIError.badCredentials
    case .changed(let profile):
      let document = AccountEndpoints.document(profile)
      var response = Answers.unstored(document)
      response.fields.set(.cacheControl, "private, no-cache")
      response.fields.set(.etag, EntityTag(hashing: document).description)
      return response
    case .conflict(let profile): return conflict(AccountEndpoints.document(profile), request)
    }
  }

  /// `PUT /v1/account/password`.
  func changePassword(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let form = try JSONObjectReader.read(try await request.body(limit: AccountEndpoints.maxBody)) { body in
      (
        current: body.required("current", as: String.self) ?? "", new: body.required("new", as: String.self) ?? "",
        endsOthers: body.optional("end_other_sessions", as: Bool.self) ?? false
      )
    }
    let outcome = try await services.accounts.changePassword(
      from: form.current, to: form.new, endsOthers: form.endsOthers, token: token,
      source: services.source(of: request))
    return try answer(outcome, to: request)
  }

  /// `DELETE /v1/account`, with the password in the body.
  func remove(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let password = try JSONObjectReader.read(try await request.body(limit: AccountEndpoints.maxBody)) {
      $0.required("password", as: String.self) ?? ""
    }
    var response = try answer(
      try await services.accounts.delete(password: password, token: token, source: services.source(of: request)),
      to: request)
    services.browsers.clear(in: &response, to: request)
    return response
  }

  private func answer(_ outcome: Accounts.OwnerOutcome, to request: Request) throws -> Response {
    switch outcome {
    case .done(let account):
      request.label = account
      return Response(.noContent, [.cacheControl: "no-store"])
    case .nobody: throw APIError.badCredentials
    case .wrongPassword(let account):
      request.label = account
      throw APIError(.forbidden, "auth/wrong-password", "The password is not the account's.")
    case .unfit(let refusal):
      var problem = Problem(
        .unprocessableContent, code: "request/invalid-body", detail: "The body is not what this request takes.")
      problem.errors = [Problem.Detail(pointer: "/new", detail: refusal.detail)]
      throw APIError(problem)
    case .throttled(let seconds): throw APIError.throttled(seconds)
    }
  }

  // MARK: Documents

  private static func read(_ bytes: [UInt8]) throws -> Accounts.ProfileChange {
    try JSONObjectReader.read(bytes) { body in
      var change = Accounts.ProfileChange()
      switch body.field("display_name", as: String.self) {
      case .absent: break
      case .null: change.displayName = .some(nil)
      case .value(let name):
        PlainText.check(name, "display_name", maxLength: maxNameLength, in: &body)
        change.displayName = name
      }
      change.locale = required("locale", "must be a language such as de or pt-BR", in: &body) {
        Accounts.isValid(locale: $0)
      }
      change.gifRating = required(
        "gif_rating", "must be one of \(Accounts.gifRatings.joined(separator: ", "))", in: &body
      ) { Accounts.gifRatings.contains($0) }
      return change
    }
  }

  /// A setting that may be left out, but not be taken away.
  private static func required(
    _ name: String, _ rule: String, in body: inout JSONObjectReader, _ isValid: (String) -> Bool
  ) -> String? {
    switch body.field(name, as: String.self) {
    case .absent: return nil
    case .null: body.refuse(name, rule)
    case .value(let value):
      if isValid(value) { return value }
      body.refuse(name, rule)
    }
    return nil
  }

  private static func document(_ profile: Accounts.Profile) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("username")
    writer.string(profile.username)
    writer.key("display_name")
    if let name = profile.displayName { writer.string(name) } else { writer.null() }
    writer.key("locale")
    writer.string(profile.locale)
    writer.key("gif_rating")
    writer.string(profile.gifRating)
    writer.key("created_at")
    writer.string(Timestamp(microseconds: profile.createdAt.microseconds).description)
    writer.key("version")
    writer.int(profile.version)
    writer.key("counts")
    writer.beginObject()
    writer.key("favorites")
    writer.beginObject()
    for kind in Favorite.Kind.allCases {
      writer.key(kind.rawValue)
      writer.int(profile.favorites[kind.rawValue] ?? 0)
    }
    writer.endObject()
    writer.key("tombstones")
    writer.int(profile.tombstones)
    writer.key("devices")
    writer.int(profile.devices)
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }

  /// 412 with the server's copy, so that the client can merge.
  private func conflict(_ document: [UInt8], _ request: Request) -> Response {
    var problem = Problem(
      .preconditionFailed, code: "accounts/changed", detail: "The account has changed since it was read.")
    problem.requestID = request.id
    var writer = JSONWriter()
    problem.bytes.withUnsafeBytes { bytes in
      writer.rawObject(bytes) { writer in
        writer.key("server")
        writer.raw(document)
      }
    }
    var response = Response(.preconditionFailed, contentType: Problem.contentType, writer.bytes)
    response.fields.set(.cacheControl, "no-store")
    response.fields.set(.xContentTypeOptions, "nosniff")
    response.fields.set(.etag, EntityTag(hashing: document).description)
    return response
  }
}
