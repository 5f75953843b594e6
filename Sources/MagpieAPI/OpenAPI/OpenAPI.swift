import HTTP
import JSONText

/// The API's description for machines, version 3.1 of OpenAPI.
///
/// It is put together from the operations, which name what they take and give, and from the components of those names.
/// Limits come from the code that enforces them. A test holds the operations against the route table.
public enum OpenAPI {
  /// The document, JSON.
  ///
  /// - Parameter version: the server's.
  public static func document(version: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 64 << 10)
    writer.beginObject()
    writer.key("openapi")
    writer.string("3.1.0")
    writer.key("info")
    writer.beginObject()
    writer.key("title")
    writer.string("Magpie")
    writer.key("version")
    writer.string(version)
    writer.key("summary")
    writer.string("GitHub users, their lists and repositories from a mirror, and favorites in step on all devices.")
    writer.key("license")
    writer.raw(#"{"name":"MIT","identifier":"MIT"}"#)
    writer.endObject()
    writer.key("servers")
    writer.raw(#"[{"url":"/"}]"#)
    writer.key("tags")
    writer.raw(Array(tags.utf8))
    writer.key("paths")
    writePaths(to: &writer)
    writer.key("components")
    writeComponents(to: &writer)
    writer.endObject()
    return writer.bytes
  }

  private static let tags = """
    [{"name":"accounts","description":"Ways to get a token, devices, settings."},
    {"name":"favorites","description":"What an account has starred."},
    {"name":"sync","description":"Devices in step: deltas, batches of edits, live events."},
    {"name":"github","description":"GitHub's own paths and shapes, answered from the mirror. API links in bodies lead here."},
    {"name":"photos","description":"The photo service's own paths and shapes, for everybody, and placeholder pictures."},
    {"name":"gifs","description":"GIPHY's own paths and shapes, if the operator has a key of GIPHY's consent."},
    {"name":"jobs","description":"Refreshes under way."},
    {"name":"about","description":"Public facts about this server."}]
    """

  static let operations =
    accountOperations + ownAccountOperations + favoriteOperations + collectionOperations + syncOperations
    + gitHubOperations + changeOperations + repositoryOperations
    + mediaOperations + aboutOperations

  private static func writePaths(to writer: inout JSONWriter) {
    writer.beginObject()
    var written: Set<String> = []
    for path in operations.map(\.path) where written.insert(path).inserted {
      writer.key(path)
      writer.beginObject()
      for operation in operations where operation.path == path { operation.write(to: &writer) }
      writer.endObject()
    }
    writer.endObject()
  }

  private static let securitySchemes = """
    {"token":{"type":"http","scheme":"bearer","description":"mgp_… as given by signing in or by SQL. Under /github the scheme \
    token is taken, too."},"cookie":{"type":"apiKey","in":"cookie","name":"__Host-mgp","description":"As set by signing in with \
    cookie: true; mgp on plain HTTP to loopback. Authorization goes before it."}}
    """

  private static func writeComponents(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("securitySchemes")
    writer.raw(Array(securitySchemes.utf8))
    for (name, groups) in [
      (
        "parameters",
        [parameters, repositoryParameters, accountParameters, favoriteParameters, mediaParameters, syncParameters]
      ), ("headers", [headers, mediaHeaders]),
      (
        "responses",
        [responses, repositoryResponses, accountResponses, favoriteResponses, mediaResponses, syncResponses]
      ), ("schemas", [schemas, repositorySchemas, accountSchemas, favoriteSchemas, mediaSchemas, syncSchemas]),
    ] {
      writer.key(name)
      writer.beginObject()
      for (name, text) in groups.joined() {
        writer.key(name)
        writer.raw(Array(text.utf8))
      }
      writer.endObject()
    }
    writer.endObject()
  }
}
