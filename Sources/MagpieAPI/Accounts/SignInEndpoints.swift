import HTTP
import HTTPServer
import JSONText
import Magpie

/// `POST /v1/accounts`, `/v1/invitations/redeem`, `/v1/sessions`, `/v1/account/restore`: ways to get a token.
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
    let admission = try await services.accounts.signUp(
      username: form.username, password: form.password, displayName: form.displayName, device: form.device,
      from: services.source(of: request), isBrowser: form.isBrowser)
    return try answer(admission, to: request, form) {
      APIError(.conflict, "accounts/username-taken", "The username is taken.")
    }
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
    let refusal = APIError(
      .forbidden, "accounts/invalid-code", "The code is not known, was used, or is older than 7 days.")
    guard let code = Secret(form.code, kind: .invitation) else { throw refusal }
    let admission = try await services.accounts.redeem(
      code, password: form.password, device: form.device, from: services.source(of: request),
      isBrowser: form.isBrowser)
    return try answer(admission, to: request, form) { refusal }
  }

  /// Signs a device in.
  func signIn(_ request: Request) async throws -> Response { try await signIn(request, restores: false) }

  /// Signs in to an account that its owner has deleted, and takes that back. Of an account that is there it only signs in, so
  /// that a retry does no harm.
  func restore(_ request: Request) async throws -> Response { try await signIn(request, restores: true) }

  private func signIn(_ request: Request, restores: Bool) async throws -> Response {
    let form = try await read(request) { body in
      var form = Form()
      form.username = body.required("username", as: String.self) ?? ""
      form.password = body.required("password", as: String.self) ?? ""
      form.device = device(in: &body)
      return form
    }
    let admission = try await services.accounts.signIn(
      username: form.username, password: form.password, device: form.device, from: services.source(of: request),
      restores: restores, isBrowser: form.isBrowser)
    return try answer(admission, to: request, form) {
      APIError(
        Problem(.unauthorized, code: "auth/wrong-password", detail: "Username and password do not fit."),
        [.wwwAuthenticate: "Bearer realm=\"magpie\""])
    }
  }

  // MARK: Bodies

  private struct Form {
    var username = ""
    var password = ""
    var code = ""
    var displayName: String?
    var device = Accounts.Device()
    /// Whether the token goes into a cookie.
    var isBrowser = false
  }

  private func read(_ request: Request, _ body: (inout JSONObjectReader) -> Form) async throws -> Form {
    let bytes = try await request.body(limit: SignInEndpoints.maxBody)
    let form = try JSONObjectReader.read(bytes) { reader in
      var form = body(&reader)
      form.isBrowser = reader.optional("cookie", as: Bool.self) ?? false
      return form
    }
    // Otherwise another site could sign its visitor in to an account of its own.
    if form.isBrowser { try services.browsers.requireOwnPage(request) }
    return form
  }

  private func newPassword(in body: inout JSONObjectReader, username: String?) -> String {
    guard let password = body.required("password", as: String.self) else { return "" }
    if let refusal = PasswordPolicy.refusal(of: password, username: username) {
      body.refuse("password", refusal.detail)
    }
    return password
  }

  private func text(_ name: String, in body: inout JSONObjectReader, maxLength: Int) -> String? {
    guard let text = body.optional(name, as: String.self) else { return nil }
    PlainText.check(text, name, maxLength: maxLength, in: &body)
    return text
  }

  private func device(in body: inout JSONObjectReader) -> Accounts.Device {
    Accounts.Device(
      name: text("device", in: &body, maxLength: Accounts.Device.maxLength) ?? "",
      app: text("app", in: &body, maxLength: Accounts.Device.maxLength) ?? "")
  }

  // MARK: Answer

  private func answer(
    _ admission: Accounts.Admission, to request: Request, _ form: Form, refusal: () -> APIError
  ) throws -> Response {
    switch admission {
    case .throttled(let seconds): throw APIError.throttled(seconds)
    case .refused(let account):
      request.label = account ?? 0
      throw refusal()
    case .admitted(let signIn):
      request.label = signIn.account
      var response = answer(signIn, showsToken: !form.isBrowser)
      if form.isBrowser { services.browsers.set(signIn.token, in: &response) }
      return response
    }
  }

  private func answer(_ signIn: Accounts.SignIn, showsToken: Bool) -> Response {
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
    if showsToken {
      writer.key("token")
      writer.string(signIn.token.text)
    }
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
