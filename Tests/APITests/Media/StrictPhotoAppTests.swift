import Foundation
import Testing
import WorldSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A photo app as it is: one request to `/photos`, and a decoder that takes all or nothing. Only its base URL leads to Magpie.
@Suite struct StrictPhotoAppTests {
  private struct Photo: Decodable {
    let albumId: Int
    let id: Int
    let title: String
    let url: URL
    let thumbnailUrl: URL
  }

  private protocol APIRequest {
    associatedtype Answer
    func makeRequest(base: URL) -> URLRequest
    func parseResponse(data: Data) throws -> Answer
  }

  private struct PhotosRequest: APIRequest {
    var path = "photos"
    func makeRequest(base: URL) -> URLRequest { URLRequest(url: base.appendingPathComponent(path)) }
    func parseResponse(data: Data) throws -> [Photo] { try JSONDecoder().decode([Photo].self, from: data) }
  }

  @Test func `the app shows all five thousand, with addresses that are there`() async throws {
    try await TestWorld.run(TestWorld.Options()) { world in
      let base = try #require(URL(string: world.servers[0].baseURL + "/jsonplaceholder"))
      for request in [PhotosRequest(), PhotosRequest(path: "photos/")] {
        let (data, response) = try await URLSession.shared.data(for: request.makeRequest(base: base))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let photos = try request.parseResponse(data: data)
        #expect(photos.map(\.id) == Array(1...5_000))
        #expect(
          photos.allSatisfy { $0.url.host == base.host && $0.thumbnailUrl.path.hasPrefix("/images/placeholder/150/") })
      }
    }
  }
}
