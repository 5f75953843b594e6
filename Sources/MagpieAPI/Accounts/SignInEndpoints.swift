import HTTP
import HTTPServer
import JSONText
import Magpie

/// `POST /v1/accounts`, `/v1/invitations/redeem`, `/v1/sessions`: ways to get a token.
struct SignInEndpoints: Sendable {
  static let maxBody = 64 << 10
  let services: Services

  /// Makes an account, where that is open to everybody.
  func signUp(_ request: Request) async throws -> Response {
    guard services.settings.allowsSignUp else {
      throw APIError(
        .forbidden, "accounts/signup-closed", "Accounts are made by the operator here; ask for an invitation.")
    }
    let form = try await read(request) { body in
      var form = Form()
      form.username = body.required("username", as: String.self) ?? ""
      if !Accounts.isValid(username: form.username) {
        body.refuse("username", "must have 3 to 39 characters of a-z, 0-9, _ and -")
      }
      form.password = newPassword(in: &body, username: form.username)
      form.displayName = text("display_name", in: &body, maxLength: 100)
      form.device = device(in: &body)
      return form
    }
    let signIn = try await services.accounts.signUp(
      username: form.username, password: form.password, displayName: form.displayName, device: form.device)
    guard let signIn else { throw APIError(.conflict, "accounts/username-taken", "The username is taken.") }
    return answer(signIn)
  }

  /// Uses a code up that an administrator has given out.
  func redeem(_ request: Request) async throws -> Response {
    let form = try await read(request) { body in
      var form = Form()
      form.code = body.required("code", as: String.self) ?? ""
      form.password = newPassword(in: &body, username: nil)
      form.device = device(in: &body)
      return form
    }
    guard let code = Secret(form.code, kind: .invitation),
      let signIn = try await services.accounts.redeem(code, password: form.password, device: form.device)
    else {
      throw APIError(.forbidden, "accounts/invalid-code", "The code is not known, was used, or is older than 7 days.")
    }
    return answer(signIn)
  }

  /// Signs a device in.
  func signIn(_ request: Request) async throws -> Response {
    let form = try await read(request) { body in
      var form = Form()
      form.username = body.required("username", as: String.self) ?? ""
      form.password = body.required("password", as: String.self) ?? ""
      form.device = device(in: &body)
      return form
    }
    guard form.password.utf8.count <= PasswordPolicy.length.upperBound,
      let signIn = try await services.accounts.signIn(
        username: form.username, password: form.password, device: form.device)
    else {
      throw APIError(
        Problem(.unauthorized, code: "auth/wrong-password", detail: "Username and password do not fit."),
        [.wwwAuthenticate: "Bearer realm=\"magpie\""])
    }
    return answer(signIn)
  }

  // MARK: Bodies

  private struct Form {
    var username = ""
    var password = ""
    var code = ""
    var displayName: String?
    var device = Accounts.Device()
  }

  private func read(_ request: Request, _ body: (inout JSONObjectReader) -> Form) async throws -> Form {
    let bytes = try await request.body(limit: SignInEndpoints.maxBody)
    return try JSONObjectReader.read(bytes, body)
  }

  private func newPassword(in body: inout JSONObjectReader, username: String?) -> String {
    guard let password = body.required("password", as: String.self) else { return "" }
    switch PasswordPolicy.refusal(of: password, username: username) {
    case nil: break
    case .tooShort: body.refuse("password", "must have at least \(PasswordPolicy.length.lowerBound) bytes")
    case .tooLong: body.refuse("password", "must not have more than \(PasswordPolicy.length.upperBound) bytes")
    case .common: body.refuse("password", "is one that attackers try first")
    }
    return password
  }

  private func text(_ name: String, in body: inout JSONObjectReader, maxLength: Int) -> String? {
    guard let text = body.optional(name, as: String.self) else { return nil }
    if text.unicodeScalars.count > maxLength || text.isEmpty {
      body.refuse(name, "must have 1 to \(maxLength) characters")
    }
    return text
  }

  private func device(in body: inout JSONObjectReader) -> Accounts.Device {
    Accounts.Device(
      name: text("device", in: &body, maxLength: Accounts.Device.maxLength) ?? "",
      app: text("app", in: &body, maxLength: Accounts.Device.maxLength) ?? "")
  }

  // MARK: Answer

  private func answer(_ signIn: Accounts.SignIn) -> Response {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("account")
    writer.beginObject()
    writer.key("username")
    writer.string(signIn.username)
    writer.key("display_name")
    if let name = signIn.displayName { writer.string(name) } else { writer.null() }
    writer.key("created_at")
    writer.string(Timestamp(microseconds: signIn.accountCreatedAt.microseconds).description)
    writer.key("version")
    writer.int(signIn.version)
    writer.endObject()
    writer.key("token")
    writer.string(signIn.token.text)
    writer.key("session")
    writer.beginObject()
    writer.key("id")
    writer.string(signIn.sessionID.description)
    writer.key("created_at")
    writer.string(Timestamp(microseconds: signIn.sessionCreatedAt.microseconds).description)
    writer.endObject()
    writer.endObject()
    return Answers.unstored(writer.bytes, status: .created)
  }
}
