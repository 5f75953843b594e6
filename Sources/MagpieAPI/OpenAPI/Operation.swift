import HTTP
import JSONText

extension OpenAPI {
  /// One method of one path: what it takes and gives, by the names of components.
  struct Operation: Sendable {
    /// An answer that is no problem.
    struct Answer: Sendable {
      let status: Int
      let description: String
      /// A schema's name; `nil` for an answer without a body.
      var schema: String?
      /// Names of headers.
      var headers: [String] = []
      var mediaType = "application/json"
    }

    let method: Method
    let path: String
    let id: String
    let tag: String
    let summary: String
    var parameters: [String] = []
    /// The body's schema.
    var body: String?
    var bodyIsRequired = true
    var answers: [Answer]
    /// Status and response component of each refusal.
    var refusals: [(status: Int, response: String)] = []
    var isPublic = false

    func write(to writer: inout JSONWriter) {
      writer.key(method.rawValue.lowercased())
      writer.beginObject()
      writer.key("operationId")
      writer.string(id)
      writer.key("tags")
      writer.beginArray()
      writer.string(tag)
      writer.endArray()
      writer.key("summary")
      writer.string(summary)
      writer.key("security")
      writer.raw(isPublic ? "[]" : #"[{"token":[]},{"cookie":[]}]"#)
      if !parameters.isEmpty {
        writer.key("parameters")
        writer.beginArray()
        for name in parameters { Operation.writeReference("parameters", name, to: &writer) }
        writer.endArray()
      }
      if let body {
        writer.key("requestBody")
        writer.beginObject()
        writer.key("required")
        writer.bool(bodyIsRequired)
        Operation.writeContent(body, "application/json", to: &writer)
        writer.endObject()
      }
      writer.key("responses")
      writer.beginObject()
      for answer in answers { write(answer, to: &writer) }
      for (status, response) in allRefusals {
        writer.key(String(status))
        Operation.writeReference("responses", response, to: &writer)
      }
      writer.key("default")
      Operation.writeReference("responses", "Problem", to: &writer)
      writer.endObject()
      writer.endObject()
    }

    private var allRefusals: [(status: Int, response: String)] {
      isPublic ? refusals : [(401, "Unauthorized")] + refusals
    }

    private func write(_ answer: Answer, to writer: inout JSONWriter) {
      writer.key(String(answer.status))
      writer.beginObject()
      writer.key("description")
      writer.string(answer.description)
      if !answer.headers.isEmpty {
        writer.key("headers")
        writer.beginObject()
        for name in answer.headers {
          writer.key(name)
          Operation.writeReference("headers", name, to: &writer)
        }
        writer.endObject()
      }
      if let schema = answer.schema { Operation.writeContent(schema, answer.mediaType, to: &writer) }
      writer.endObject()
    }

    private static func writeContent(_ schema: String, _ mediaType: String, to writer: inout JSONWriter) {
      writer.key("content")
      writer.beginObject()
      writer.key(mediaType)
      writer.beginObject()
      writer.key("schema")
      writeReference("schemas", schema, to: &writer)
      writer.endObject()
      writer.endObject()
    }

    private static func writeReference(_ group: String, _ name: String, to writer: inout JSONWriter) {
      writer.beginObject()
      writer.key("$ref")
      writer.string("#/components/\(group)/\(name)")
      writer.endObject()
    }
  }
}
